#include "datagen/classic/classic_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "datagen/cpf.h"

namespace reveza::datagen::classic {
namespace {

constexpr uint64_t kMostCustomers = 80'000'000;
constexpr uint64_t kMostDrivers = CpfSequence::kPeople - kMostCustomers;
constexpr int32_t kFirstYear = 1900;
constexpr int32_t kLastYear = 2200;

bool HasTransactions(const Options& options) { return options.kind != Kind::kRides; }
bool HasRides(const Options& options) { return options.kind != Kind::kTransactions; }
uint64_t TransactionsOf(const Options& options) {
  return HasTransactions(options) ? options.transactions : 0;
}
uint64_t RidesOf(const Options& options) { return HasRides(options) ? options.rides : 0; }

// As the original, but not more than there are numbers for.
uint64_t CustomersOf(const Options& options) {
  if (options.customers) return *options.customers;
  const uint64_t rows_each = options.kind == Kind::kRides ? 50 : 100;
  const uint64_t rows = TransactionsOf(options) + RidesOf(options);
  return std::clamp<uint64_t>(rows / rows_each, 1'000, kMostCustomers);
}
uint64_t DriversOf(const Options& options) {
  return HasRides(options) ? std::clamp<uint64_t>(RidesOf(options) / 50, 100, kMostDrivers) : 1;
}

Status CheckOptions(const Options& options) {
  const auto fail = [](std::string message) {
    return Fail(Error::Code::kInvalidArgument, std::move(message));
  };
  for (const auto& [name, date] : {std::pair{"start", options.start}, std::pair{"end", options.end},
                                   std::pair{"as-of", options.as_of}}) {
    if (date.year < kFirstYear || date.year > kLastYear) {
      return fail(fmt::format("the {} date is in the year {}, which should be from {} to {}", name,
                              date.year, kFirstYear, kLastYear));
    }
  }
  if (DaysOf(options.end) < DaysOf(options.start)) {
    return fail("the end date is before the start date");
  }
  if (options.customers && (*options.customers < 1 || *options.customers > kMostCustomers)) {
    return fail(fmt::format("{} customers should be 1 to {}", *options.customers, kMostCustomers));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ClassicModel>> ClassicModel::Make(const Options& options) {
  if (Status status = CheckOptions(options); !status) return std::unexpected(status.error());
  uint64_t blocks = 0;
  Result<Plans> plans = MakePlans(options, blocks);
  if (!plans) return std::unexpected(plans.error());
  return std::unique_ptr<ClassicModel>(new ClassicModel(options, *plans, blocks));
}

// The table of most rows has the full blocks; the rows of the others are spread over as many.
Result<ClassicModel::Plans> ClassicModel::MakePlans(const Options& options, uint64_t& blocks) {
  const uint64_t transactions = TransactionsOf(options);
  const uint64_t rides = RidesOf(options);
  const uint64_t most = std::max(transactions, rides);
  auto whole = BlockPlan::Make(most, options.rows_per_block, {});
  if (!whole) return std::unexpected(whole.error());
  blocks = std::max<uint64_t>(1, whole->count());
  const auto plan = [&](uint64_t rows, Share frauds) {
    const uint64_t spread = std::max<uint64_t>(1, (rows + blocks - 1) / blocks);
    return BlockPlan::Make(rows, rows == most ? options.rows_per_block : spread, frauds);
  };
  auto transaction_plan = plan(transactions, options.frauds);
  if (!transaction_plan) return std::unexpected(transaction_plan.error());
  auto ride_plan = plan(rides, options.frauds);
  if (!ride_plan) return std::unexpected(ride_plan.error());
  auto customer_plan = plan(CustomersOf(options), {});
  if (!customer_plan) return std::unexpected(customer_plan.error());
  auto driver_plan = plan(HasRides(options) ? DriversOf(options) : 0, {});
  if (!driver_plan) return std::unexpected(driver_plan.error());
  return Plans{.customers = *customer_plan,
               .transactions = *transaction_plan,
               .drivers = *driver_plan,
               .rides = *ride_plan};
}

ClassicModel::ClassicModel(const Options& options, const Plans& plans, uint64_t blocks)
    : plans_(plans),
      blocks_(blocks),
      tables_{&kCustomers, &kDevices},
      world_(options, CustomersOf(options), DriversOf(options)),
      customers_(world_),
      devices_(world_),
      transactions_(world_),
      drivers_(world_),
      rides_(world_, drivers_.fleet()) {
  if (HasTransactions(options)) tables_.push_back(&kTransactions);
  if (HasRides(options)) tables_.insert(tables_.end(), {&kDrivers, &kRides});
}

// Devices go with their customers.
const BlockPlan& ClassicModel::PlanOf(const Table& table) const {
  if (&table == &kTransactions) return plans_.transactions;
  if (&table == &kDrivers) return plans_.drivers;
  if (&table == &kRides) return plans_.rides;
  return plans_.customers;
}

uint64_t ClassicModel::RowsOf(const Table& table, uint64_t block) const {
  const BlockPlan& plan = PlanOf(table);
  return &table == &kDevices || block >= plan.count() ? 0 : plan.At(block).rows;
}

Status ClassicModel::Make(uint64_t block, std::span<const Table* const> wanted,
                          BatchSink& sink) const {
  for (const Table* table : tables_) {
    if (std::ranges::find(wanted, table) == wanted.end()) continue;
    const BlockPlan& plan = PlanOf(*table);
    if (block >= plan.count()) continue;
    const Block rows = plan.At(block);
    const Status status =
        table == &kDevices ? MakeDevices(rows, sink) : MakeTable(*table, rows, sink);
    if (!status) return status;
  }
  return {};
}

// Of a block of transactions or rides; no other table has frauds.
FraudMarks ClassicModel::MarksOf(const Table& table, const Block& block) const {
  if (&table == &kRides) return {rides_.fraud_key(), block};
  return {transactions_.fraud_key(), &table == &kTransactions ? block : Block{}};
}

void ClassicModel::Fill(const Table& table, const BatchRows& rows, Batch& batch) const {
  if (&table == &kRides) {
    rides_.Fill(rows, batch);
  } else {
    transactions_.Fill(rows, batch);
  }
}

Status ClassicModel::MakeTable(const Table& table, const Block& block, BatchSink& sink) const {
  const FraudMarks marks = MarksOf(table, block);
  const bool has_frauds = &table == &kRides || &table == &kTransactions;
  std::vector<uint8_t> frauds;
  Batch batch(table);
  for (uint64_t offset = 0; offset < block.rows; offset += batch.rows()) {
    batch.Begin(std::min<uint64_t>(Batch::kMaxRows, block.rows - offset));
    const uint64_t row = block.first_row + offset;
    if (has_frauds) {
      frauds.resize(batch.rows());
      for (std::size_t i = 0; i < frauds.size(); ++i) frauds[i] = marks.IsFraud(offset + i);
      Fill(table, BatchRows(row, frauds), batch);
    } else if (&table == &kDrivers) {
      drivers_.Fill(row, batch);
    } else {
      customers_.Fill(row, batch);
    }
    if (Status status = sink.Put(batch); !status) return status;
  }
  return {};
}

Status ClassicModel::MakeDevices(const Block& customers, BatchSink& sink) const {
  Batch batch(kDevices);
  std::vector<Owner> owners;
  owners.reserve(Batch::kMaxRows);
  const uint64_t end = customers.first_row + customers.rows;
  for (uint64_t customer = customers.first_row; customer < end; ++customer) {
    const Traits traits = world_.TraitsOf(customer);
    for (uint32_t device = 0; device < traits.devices; ++device) {
      owners.push_back({.customer = customer, .traits = traits, .device = device});
    }
    const bool full = owners.size() + World::kMostDevices > Batch::kMaxRows;
    if (!full && customer + 1 < end) continue;
    batch.Begin(owners.size());
    devices_.Fill(owners, batch);
    if (Status status = sink.Put(batch); !status) return status;
    owners.clear();
  }
  return {};
}

}  // namespace reveza::datagen::classic
