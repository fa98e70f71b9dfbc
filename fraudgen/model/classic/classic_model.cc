#include "fraudgen/model/classic/classic_model.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "fraudgen/values/civil_time.h"
#include "fraudgen/values/cpf.h"

namespace reveza::fraudgen::classic {
namespace {

constexpr uint64_t kMaxDrivers = CpfSequence::kPeople - Options::kMaxCustomers;

bool HasTransactions(const Options& options) { return options.kind != Kind::kRides; }
bool HasRides(const Options& options) { return options.kind != Kind::kTransactions; }
uint64_t TransactionsOf(const Options& options) {
  return HasTransactions(options) ? options.transactions : 0;
}
uint64_t RidesOf(const Options& options) { return HasRides(options) ? options.rides : 0; }

// Returns the original's ratio to the rows, limited by the available CPF numbers.
uint64_t CustomersOf(const Options& options) {
  if (options.customers) return *options.customers;
  const uint64_t rows_each = options.kind == Kind::kRides ? 50 : 100;
  const uint64_t rows = TransactionsOf(options) + RidesOf(options);
  return std::clamp<uint64_t>(rows / rows_each, 1'000, Options::kMaxCustomers);
}
uint64_t DriversOf(const Options& options) {
  return HasRides(options) ? std::clamp<uint64_t>(RidesOf(options) / 50, 100, kMaxDrivers) : 1;
}

}  // namespace

ClassicModel::ClassicModel(const Options& options, uint64_t blocks)
    : blocks_(blocks),
      world_(options, CustomersOf(options), DriversOf(options)),
      devices_(world_) {}

// The largest table determines the number of blocks; the rows of the others are spread over them.
std::unique_ptr<ClassicModel> ClassicModel::Make(const Options& options) {
  const uint64_t max = std::max(TransactionsOf(options), RidesOf(options));
  const BlockPlan whole(max, options.rows_per_block, {});
  const uint64_t blocks = std::max<uint64_t>(1, whole.count());
  std::unique_ptr<ClassicModel> model(new ClassicModel(options, blocks));
  const World& world = model->world_;
  const auto add = [&](const Table& table, uint64_t rows, Share frauds,
                       std::unique_ptr<TableRows> made) {
    const uint64_t spread = std::max<uint64_t>(1, (rows + blocks - 1) / blocks);
    const uint64_t in_block = rows == max ? options.rows_per_block : spread;
    model->parts_.push_back(
        {.table = &table, .plan = {rows, in_block, frauds}, .rows = std::move(made)});
    model->tables_.push_back(&table);
  };
  add(kCustomers, world.customers(), {}, MakeCustomers(world));
  add(kDevices, world.customers(), {}, nullptr);
  if (HasTransactions(options)) {
    add(kTransactions, options.transactions, options.frauds, MakeTransactions(world));
  }
  if (HasRides(options)) {
    add(kDrivers, DriversOf(options), {}, MakeDrivers(world));
    add(kRides, options.rides, options.frauds, MakeRides(world));
  }
  return model;
}

// Returns null if the table is not generated.
const ClassicModel::Part* ClassicModel::Find(const Table& table) const {
  const auto found = std::ranges::find(parts_, &table, &Part::table);
  return found == parts_.end() ? nullptr : &*found;
}

uint64_t ClassicModel::RowsOf(const Table& table, uint64_t block) const {
  const Part* part = Find(table);
  const bool known = part != nullptr && part->rows != nullptr && block < part->plan.count();
  return known ? part->plan.At(block).rows : 0;
}

Status ClassicModel::Make(uint64_t block, std::span<const Table* const> wanted,
                          BatchSink& sink) const {
  for (const Part& part : parts_) {
    if (!IsIn(wanted, *part.table) || block >= part.plan.count()) continue;
    const Block rows = part.plan.At(block);
    RETURN_IF_ERROR(part.rows == nullptr ? MakeDevices(rows, sink) : MakeTable(part, rows, sink));
  }
  return {};
}

Status ClassicModel::MakeTable(const Part& part, const Block& block, BatchSink& sink) {
  const FraudBitmap marks(part.rows->fraud_key(), block);
  std::vector<uint8_t> frauds;
  Batch batch(*part.table);
  for (uint64_t offset = 0; offset < block.rows; offset += batch.rows()) {
    batch.Begin(std::min<uint64_t>(Batch::kMaxRows, block.rows - offset));
    frauds.resize(batch.rows());
    for (std::size_t i = 0; i < frauds.size(); ++i) frauds[i] = marks.IsFraud(offset + i);
    part.rows->Fill(BatchRows(block.first_row + offset, frauds), batch);
    RETURN_IF_ERROR(sink.Put(batch));
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
    const bool full = owners.size() + World::kMaxDevices > Batch::kMaxRows;
    if (!full && customer + 1 < end) continue;
    batch.Begin(owners.size());
    devices_.Fill(owners, batch);
    RETURN_IF_ERROR(sink.Put(batch));
    owners.clear();
  }
  return {};
}

namespace {

// Rows kept per pass, unless a single day has more.
constexpr uint64_t kMaxRows = uint64_t{1} << 22;
// The columns of this many rows stay in cache.
constexpr std::size_t kRowsAtOnce = 1'024;

}  // namespace

// Rows in time order, although their times are independent. Processes a few days at a time: each
// pass recomputes the times of all rows, at a few nanoseconds a row, and keeps the numbers of those
// that fall into its days.
struct ClassicModel::Timed {
  int64_t time;
  uint64_t row : 63;
  uint64_t fraud : 1;
};

// Finds the rows with a time in [begin, end), in time order.
void ClassicModel::FindRows(const Part& part, int64_t begin, int64_t end,
                            std::vector<Timed>& found) {
  found.clear();
  std::array<int64_t, Batch::kMaxRows> times;
  for (uint64_t index = 0; index < part.plan.count(); ++index) {
    const Block block = part.plan.At(index);
    const FraudBitmap marks(part.rows->fraud_key(), block);
    for (uint64_t offset = 0; offset < block.rows; offset += times.size()) {
      const std::size_t count = std::min<uint64_t>(times.size(), block.rows - offset);
      part.rows->DrawTimes(block.first_row + offset, std::span(times).first(count));
      for (std::size_t i = 0; i < count; ++i) {
        if (times[i] < begin || times[i] >= end) continue;
        found.push_back({.time = times[i],
                         .row = block.first_row + offset + i,
                         .fraud = marks.IsFraud(offset + i)});
      }
    }
  }
  // Identifiers sort like row numbers.
  std::ranges::sort(found, {}, [](const Timed& timed) {
    return std::tuple(timed.time, static_cast<uint64_t>(timed.row));
  });
}

Status ClassicModel::MakeInOrder(const Table& table, BatchSink& sink) const {
  if (&table != &kTransactions && &table != &kRides) {
    return Fail(Error::Code::kInternal, "only transactions and rides have timestamps");
  }
  const Part* part = Find(table);
  if (part == nullptr || part->plan.rows() == 0) return {};
  const uint64_t rows = part->plan.rows();
  const uint64_t days = world_.days();
  const auto days_at_once = static_cast<int64_t>(
      std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<unsigned __int128>(days) * kMaxRows /
                                                  std::max(rows, kMaxRows))));
  const int64_t last = world_.first_day() + static_cast<int64_t>(days);
  std::vector<Timed> found;
  std::vector<uint64_t> listed;
  std::vector<uint8_t> frauds;
  Batch batch(table);
  for (int64_t day = world_.first_day(); day < last; day += days_at_once) {
    FindRows(*part, day * kMicrosecondsPerDay, (day + days_at_once) * kMicrosecondsPerDay, found);
    for (std::size_t first = 0; first < found.size(); first += kRowsAtOnce) {
      const std::size_t count = std::min(kRowsAtOnce, found.size() - first);
      listed.clear();
      frauds.clear();
      for (const Timed& timed : std::span(found).subspan(first, count)) {
        listed.push_back(timed.row);
        frauds.push_back(timed.fraud);
      }
      batch.Begin(count);
      part->rows->Fill(BatchRows(listed, frauds), batch);
      RETURN_IF_ERROR(sink.Put(batch));
    }
  }
  return {};
}

}  // namespace reveza::fraudgen::classic
