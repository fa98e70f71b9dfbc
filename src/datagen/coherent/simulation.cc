#include "datagen/coherent/simulation.h"

#include <algorithm>
#include <tuple>

#include "datagen/coherent/prefetch.h"

namespace reveza::datagen::coherent {

Simulation::Simulation(const World& world, const Chains& chains, uint64_t block,
                       TableBatches& tables)
    : world_(&world),
      block_(block),
      first_customer_(world.FirstCustomer(block)),
      tables_(&tables),
      planner_(world, chains, block),
      honest_(world),
      fraud_(world, honest_),
      bank_(world),
      slices_(SlicesOf(world)),
      next_row_(world.FirstRow(block)) {}

void Simulation::MakeCustomers() {
  const uint64_t first = first_customer_;
  const uint64_t count = world_->Customers(block_);
  const uint64_t honest_rows = world_->Rows(block_) - world_->Frauds(block_);
  std::vector<uint64_t> weights(count);
  for (uint64_t i = 0; i < count; ++i) {
    const Person person = world_->PersonOf(first + i);
    for (const Slice& slice : slices_) weights[i] += Activity(person, slice);
    weight_ += weights[i];
  }
  customers_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    // What a month of 730 hours would have, in sixteenths.
    const Person person = world_->PersonOf(first + i);
    const unsigned __int128 month =
        static_cast<unsigned __int128>(person.monthly_rows) * 73'000 * honest_rows * 16;
    customers_.emplace_back(*world_, first + i, block_,
                            static_cast<uint64_t>(month / std::max<uint64_t>(weight_, 1)));
  }
}

Profile Simulation::ProfileOf(const KnownDevice& device, const CustomerState& customer) const {
  const uint64_t owner = World::OwnerOf(device.device);
  return owner == customer.person.number ? customer.person.profile
                                         : world_->BriefPersonOf(owner).profile;
}

Status Simulation::PutCustomers() {
  for (uint64_t i = 0; i < customers_.size(); ++i) {
    const CustomerState& customer = customers_[i];
    AccountRow account = {.person = customer.person, .opening_balance = customer.opening_balance};
    account.role = planner_.mules().RoleOf(i);
    if (const Status status = tables_->Put(account); !status) return status;
    for (const KnownDevice& device : customer.devices) {
      const Status status = tables_->Put(DeviceUseRow{.device = device.device,
                                                      .customer = customer.person.number,
                                                      .since = device.since,
                                                      .profile = ProfileOf(device, customer)});
      if (!status) return status;
    }
  }
  return {};
}

Status Simulation::PutRings() {
  const Mules& mules = planner_.mules();
  for (uint64_t i = 0; i < planner_.BusyMules(); ++i) {
    const RingRow member = {.ring = planner_.RingNumber(i),
                            .customer = first_customer_ + mules.Mule(i),
                            .pattern = RingPattern::kSharedDevice,
                            .role = RingRole::kMember};
    if (const Status status = tables_->Put(member); !status) return status;
  }
  return {};
}

Status Simulation::Run() {
  MakeCustomers();
  Status status = PutCustomers();
  if (!status || !tables_->WantsRows()) return status ? tables_->Flush() : status;
  status = PutRings();
  plans_ = planner_.Plan();
  for (const Slice& slice : slices_) {
    if (status && slice.begin() < world_->written_end()) status = RunSlice(slice);
  }
  return status ? tables_->Flush() : status;
}

uint64_t Simulation::CountRows() {
  const int64_t end = world_->written_end();
  if (end == world_->end()) return world_->Rows(block_);
  MakeCustomers();
  plans_ = planner_.Plan();
  const auto later = std::ranges::lower_bound(plans_, end, {}, &FraudPlan::time);
  auto rows = static_cast<uint64_t>(later - plans_.begin());
  next_plan_ = plans_.size();
  const unsigned __int128 honest_rows = world_->Rows(block_) - world_->Frauds(block_);
  for (const Slice& slice : slices_) {
    if (slice.end() > end) {
      if (weight_ != 0) rows += static_cast<uint64_t>(honest_rows * weight_before_ / weight_);
      // Of the month that is cut, the times say it.
      if (slice.begin() < end) PlanSlice(slice);
      for (std::size_t i = 0; i < order_.size() && order_.TimeAt(i) < end; ++i) ++rows;
      break;
    }
    for (const CustomerState& customer : customers_) {
      weight_before_ += Activity(customer.person, slice);
    }
  }
  return rows;
}

// How many rows each customer has this month, what else happens, and when.
void Simulation::PlanSlice(const Slice& slice) {
  const unsigned __int128 honest_rows = world_->Rows(block_) - world_->Frauds(block_);
  const PaymentTimes times(slice);
  order_.Begin(slice.begin());
  uint64_t done = weight_ == 0 ? 0 : static_cast<uint64_t>(honest_rows * weight_before_ / weight_);
  for (uint32_t i = 0; i < customers_.size(); ++i) {
    CustomerState& customer = customers_[i];
    weight_before_ += Activity(customer.person, slice);
    // Rounding what is before, not the part itself, leaves nothing over.
    const auto until = static_cast<uint64_t>(honest_rows * weight_before_ / weight_);
    customer.month = honest_.PlanMonth(customer.person, slice, static_cast<uint32_t>(until - done));
    done = until;
    if (customer.month.new_phone_at > std::max(customer.person.opened_at, slice.begin())) {
      BuyPhone(customer, customer.month.new_phone_at);
    }
    if (customer.month.new_number_at > std::max(customer.person.opened_at, slice.begin())) {
      changes_.push_back({.time = customer.month.new_number_at,
                          .customer = customer.person.number,
                          .kind = ChangeKind::kPhoneChanged});
    }
    for (uint32_t k = 0; k < customer.month.rows; ++k) {
      order_.Add(honest_.TimeOf(customer, slice, times, k), {.customer = i, .index = k});
    }
  }
  for (; next_plan_ < plans_.size() && plans_[next_plan_].time < slice.end(); ++next_plan_) {
    order_.Add(plans_[next_plan_].time,
               {.index = static_cast<uint32_t>(next_plan_), .fraud = true});
  }
  order_.Sort();
}

Status Simulation::RunSlice(const Slice& slice) {
  changes_.clear();
  new_devices_.clear();
  PlanSlice(slice);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (order_.TimeAt(i) >= world_->written_end()) break;
    Prefetch(i);
    const Event& event = order_.At(i);
    const Status status =
        event.fraud ? MakeFraud(plans_[event.index]) : MakeHonest(order_.TimeAt(i), event);
    if (!status) return status;
  }
  return PutNews();
}

// The customers' states together are larger than a cache: those of later rows are fetched in time,
// first they themselves, then what they point to.
void Simulation::Prefetch(std::size_t place) const {
  constexpr std::size_t kFar = 12;
  constexpr std::size_t kNear = 5;
  constexpr std::size_t kLine = 64;
  if (place + 2 * kFar >= order_.size()) return;
  order_.Prefetch(place + 2 * kFar);
  const auto* const far =
      reinterpret_cast<const char*>(&customers_[order_.At(place + kFar).customer]);
  for (std::size_t line = 0; line < sizeof(CustomerState); line += kLine) {
    PrefetchLine(far + line);
  }
  customers_[order_.At(place + kNear).customer].Prefetch();
}

Status Simulation::PutNews() {
  if (world_->written_end() != world_->end()) {
    // In order of time, so that a later end appends.
    const int64_t end = world_->written_end();
    std::erase_if(changes_, [end](const ChangeRow& change) { return change.time >= end; });
    std::erase_if(new_devices_, [end](const DeviceUseRow& device) { return device.since >= end; });
    std::ranges::sort(new_devices_, {}, [](const DeviceUseRow& device) {
      return std::tuple(device.since, device.customer, device.device);
    });
  }
  std::ranges::sort(changes_, {}, [](const ChangeRow& change) {
    return std::tuple(change.time, change.customer, change.kind);
  });
  for (const ChangeRow& change : changes_) {
    if (const Status status = tables_->Put(change); !status) return status;
  }
  for (const DeviceUseRow& device : new_devices_) {
    if (const Status status = tables_->Put(device); !status) return status;
  }
  return {};
}

void Simulation::AddDevice(CustomerState& customer, KnownDevice device) {
  customer.devices.push_back(device);
  new_devices_.push_back({.device = device.device,
                          .customer = customer.person.number,
                          .since = device.since,
                          .profile = customer.person.profile});
  changes_.push_back(
      {.time = device.since, .customer = customer.person.number, .device = device.device});
}

void Simulation::BuyPhone(CustomerState& customer, int64_t time) {
  if (customer.next_slot >= kDevicesOfCustomer) return;
  AddDevice(customer,
            {.device = world_->CustomersDevice(customer.person.number, customer.next_slot++),
             .since = time});
}

Row& Simulation::NewRow(const CustomerState& customer, int64_t time) {
  Row& row = tables_->NewRow();
  row.number = next_row_++;
  row.customer = customer.person.number;
  row.time = time;
  return row;
}

Status Simulation::MakeHonest(int64_t time, const Event& event) {
  CustomerState& customer = customers_[event.customer];
  customer.Begin(time);
  Row& row = NewRow(customer, time);
  honest_.Pay(customer, event.index, row);
  // Nobody pays an account that is not there yet.
  if (const uint64_t local = row.receiver - first_customer_;
      local < customers_.size() && customers_[local].person.opened_at > time) {
    row.receiver = world_->StrangerAccount(row.number);
    row.contact = -1;
    row.stranger = true;
  }
  Draws draws(Mix(customer.month.key + event.index) ^ static_cast<uint64_t>(Purpose::kAftermath));
  return Finish(customer, false, draws, row);
}

Status Simulation::MakeFraud(const FraudPlan& plan) {
  CustomerState& customer = customers_[plan.customer];
  customer.Begin(plan.time);
  customer.balance += plan.credit;
  // A chain is there because its victim's savings were.
  if (plan.certain) customer.balance = std::max(customer.balance, plan.amount);
  Row& row = NewRow(customer, plan.time);
  fraud_.Pay(customer, plan, block_, row);
  if (row.device != kNoDevice && customer.Find(row.device) == nullptr) {
    const bool registered = plan.type == FraudType::kSimSwap;
    AddDevice(customer, {.device = row.device, .since = plan.time, .registered = registered});
    if (registered) {
      changes_.push_back({.time = plan.time,
                          .customer = customer.person.number,
                          .kind = ChangeKind::kPhoneChanged});
    }
  }
  Draws draws(Mix(plan.key) ^ static_cast<uint64_t>(Purpose::kAftermath));
  if (plan.ring != kNoRing) {
    if (const Status status = PutRingRow(plan, row); !status) return status;
  }
  return Finish(customer, plan.certain, draws, row);
}

Status Simulation::Finish(CustomerState& customer, bool certain, Draws& draws, Row& row) {
  if (row.amount <= kNoInstallments) row.installments = 1;
  bank_.Derive(customer, row);
  if (!certain) bank_.StayBelowLimits(customer, draws, row);
  bank_.Decide(customer, certain, draws, row);
  bank_.Book(customer, row);
  row.reported_at = fraud_.ReportedAt(row);
  if (const Status status = Settle(customer, certain, draws, row); !status) return status;
  return tables_->PutRow();
}

// Inside the block money arrives at once, or when a pending payment settles. What a chain brings
// comes with the next hop.
Status Simulation::Settle(CustomerState& customer, bool certain, Draws& draws, const Row& row) {
  if (!IsPaid(row)) return {};
  const bool inside = IsInside(row);
  const bool pending = row.status == PaymentStatus::kPending;
  if (inside && !pending && !row.is_fraud) {
    customers_[row.receiver - first_customer_].balance += row.amount;
  }
  const bool card = row.kind == Kind::kCreditCard;
  if (IsDisputed(row)) {
    const Decision decision = DecisionOf(world_->keys(), row);
    if (decision.refunded > 0) customer.Expect(decision.decided_at, decision.refunded, card);
  }
  if (certain) return {};
  const auto settlement = SettlementOf(row, inside, draws);
  if (!settlement) return {};
  if (settlement->returned > 0) customer.Expect(settlement->time, settlement->returned, card);
  if (inside && !row.is_fraud) {
    customers_[row.receiver - first_customer_].Expect(settlement->time, row.amount, false);
  }
  return tables_->Put(*settlement);
}

Status Simulation::PutRingRow(const FraudPlan& plan, const Row& row) {
  RingRow member = {.ring = plan.ring,
                    .customer = row.customer,
                    .row = row.number,
                    .time = row.time,
                    .hop = plan.hop,
                    .pattern = RingPattern::kMuleChain,
                    .role = plan.hop == 0 ? RingRole::kVictim : RingRole::kMule};
  if (row.fraud_role == FraudRole::kCashOut) member.role = RingRole::kCashOut;
  return tables_->Put(member);
}

}  // namespace reveza::datagen::coherent
