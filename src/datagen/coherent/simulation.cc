#include "datagen/coherent/simulation.h"

#include <algorithm>
#include <numeric>
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
      changes_(world, tables.identity()),
      next_row_(world.FirstRow(block)) {}

void Simulation::MakeCustomers() {
  const uint64_t first = first_customer_;
  const uint64_t count = world_->Customers(block_);
  const uint64_t honest_rows = world_->Rows(block_) - world_->Frauds(block_);
  weights_.assign(slices_.size(), 0);
  for (uint64_t i = 0; i < count; ++i) {
    const Person person = world_->PersonOf(first + i);
    for (std::size_t k = 0; k < slices_.size(); ++k) weights_[k] += Activity(person, slices_[k]);
  }
  weight_ = std::accumulate(weights_.begin(), weights_.end(), uint64_t{0});
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
  OrderByDevice();
  order_.Reserve(MostEvents());
  for (const Slice& slice : slices_) {
    if (status && slice.begin() < world_->written_end()) status = RunSlice(slice);
  }
  return status ? tables_->Flush() : status;
}

// Of the month that has the most.
uint64_t Simulation::MostEvents() const {
  const unsigned __int128 honest_rows = world_->Rows(block_) - world_->Frauds(block_);
  uint64_t most = 0;
  auto plan = plans_.begin();
  for (std::size_t k = 0; k < slices_.size(); ++k) {
    const auto after =
        std::ranges::lower_bound(plan, plans_.end(), slices_[k].end(), {}, &FraudPlan::time);
    // One more, for what is rounded.
    const auto honest =
        static_cast<uint64_t>(weight_ == 0 ? 0 : honest_rows * weights_[k] / weight_ + 1);
    most = std::max(most, honest + static_cast<uint64_t>(after - plan));
    plan = after;
  }
  return most;
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
  const PaymentTimes times(*world_, slice);
  order_.Begin(slice.begin());
  changes_.Begin(slice);
  uint64_t done = weight_ == 0 ? 0 : static_cast<uint64_t>(honest_rows * weight_before_ / weight_);
  for (uint32_t i = 0; i < customers_.size(); ++i) {
    CustomerState& customer = customers_[i];
    customer.Begin(slice.begin());
    weight_before_ += Activity(customer.person, slice);
    // Rounding what is before, not the part itself, leaves nothing over.
    const auto until = static_cast<uint64_t>(honest_rows * weight_before_ / weight_);
    customer.month = honest_.PlanMonth(customer.person, slice, static_cast<uint32_t>(until - done));
    done = until;
    changes_.Live(customer, slice);
    const int64_t phone = customer.month.new_phone_at;
    if (phone > std::max(customer.person.opened_at, slice.begin()) &&
        phone < customer.person.closes_at) {
      changes_.BuyPhone(customer, phone);
    } else {
      customer.month.new_phone_at = kNever;
    }
    order_.BeginCustomer(i);
    for (uint32_t k = 0; k < customer.month.rows; ++k) {
      order_.Add(honest_.TimeOf(customer, slice, times, k));
    }
  }
  order_.BeginFrauds(static_cast<uint32_t>(next_plan_));
  for (; next_plan_ < plans_.size() && plans_[next_plan_].time < slice.end(); ++next_plan_) {
    order_.Add(plans_[next_plan_].time);
  }
  order_.Sort();
}

Status Simulation::RunSlice(const Slice& slice) {
  PlanSlice(slice);
  for (std::size_t i = 0; i < std::min(kFar, order_.size()); ++i) upcoming_[i] = order_.At(i);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (order_.TimeAt(i) >= world_->written_end()) break;
    const Event event = Next(i);
    const Status status =
        event.fraud ? MakeFraud(plans_[event.index]) : MakeHonest(order_.TimeAt(i), event);
    if (!status) return status;
  }
  return changes_.Put(*tables_);
}

// The customers' states together are larger than a cache: those of later rows are fetched in time,
// first they themselves, then what they point to.
Event Simulation::Next(std::size_t place) {
  constexpr std::size_t kNear = 5;
  constexpr std::size_t kLine = 64;
  if (const std::size_t far = place + kFar; far < order_.size()) {
    Event& event = upcoming_[far % upcoming_.size()];
    event = order_.At(far);
    const auto* const state = reinterpret_cast<const char*>(&customers_[event.customer]);
    for (std::size_t line = 0; line < sizeof(CustomerState); line += kLine) {
      PrefetchLine(state + line);
    }
    customers_[upcoming_[(place + kNear) % upcoming_.size()].customer].Prefetch();
  }
  return upcoming_[place % upcoming_.size()];
}

void Simulation::OrderByDevice() {
  for (uint32_t i = 0; i < plans_.size(); ++i) {
    if (plans_[i].HasDevice()) by_device_.push_back(i);
  }
  std::ranges::sort(by_device_, {}, [this](uint32_t i) {
    return std::tuple(plans_[i].customer, plans_[i].thief, plans_[i].time);
  });
}

// When a device of others is used with this account for the last time.
int64_t Simulation::LastUse(const FraudPlan& plan) const {
  const auto of_both = [this](uint32_t i) {
    return std::pair(plans_[i].customer, plans_[i].thief);
  };
  const auto after =
      std::ranges::upper_bound(by_device_, std::pair(plan.customer, plan.thief), {}, of_both);
  return after == by_device_.begin() ? plan.time : plans_[*std::prev(after)].time;
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
  // Nobody pays an account that is not there.
  if (const uint64_t local = row.receiver - first_customer_;
      local < customers_.size() &&
      (customers_[local].person.opened_at > time || customers_[local].person.closes_at <= time)) {
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
  if (plan.IsCertain()) {
    // A chain is there because its victim's savings were.
    customer.balance = std::max(customer.balance + planner_.LinkOf(plan).credit, plan.amount);
  }
  Row& row = NewRow(customer, plan.time);
  fraud_.Pay(customer, plan, block_, row);
  const DeviceNumber device = row.device;
  const bool added = device != kNoDevice && customer.Find(device) == nullptr;
  if (added) {
    const bool registered = plan.type == FraudType::kSimSwap;
    changes_.AddDevice(customer, {.device = device, .since = plan.time, .registered = registered});
    if (registered) changes_.MoveNumber(customer, plan.time);
  }
  Draws draws(Mix(plan.key) ^ static_cast<uint64_t>(Purpose::kAftermath));
  if (plan.IsCertain()) {
    if (const Status status = PutRingRow(plan, row); !status) return status;
  }
  const Status finished = Finish(customer, plan.IsCertain(), draws, row);
  if (added && reported_at_ != kNever && plan.role == FraudRole::kTakeover) {
    Draws removal(Mix(plan.key) ^ static_cast<uint64_t>(Purpose::kDevice));
    changes_.RemoveDevice(customer, device,
                          std::max(LastUse(plan), reported_at_) + removal.Between(kHour, 3 * kDay));
  }
  return finished;
}

Status Simulation::Finish(CustomerState& customer, bool certain, Draws& draws, Row& row) {
  if (row.amount <= kNoInstallments) row.installments = 1;
  bank_.Derive(customer, row);
  if (!certain) bank_.StayBelowLimits(customer, draws, row);
  bank_.Decide(customer, certain, draws, row);
  bank_.Book(customer, row);
  row.reported_at = reported_at_ = fraud_.ReportedAt(row);
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
    const Decision decision = DecisionOf(*world_, row);
    if (decision.refunded > 0) customer.Expect(decision.decided_at, decision.refunded, card);
  }
  if (certain) return {};
  const auto settlement = SettlementOf(world_->parameters().outcomes, row, inside, draws);
  if (!settlement) return {};
  if (settlement->returned > 0) customer.Expect(settlement->time, settlement->returned, card);
  if (inside && !row.is_fraud) {
    customers_[row.receiver - first_customer_].Expect(settlement->time, row.amount, false);
  }
  return tables_->Put(*settlement);
}

Status Simulation::PutRingRow(const FraudPlan& plan, const Row& row) {
  const ChainLink& link = planner_.LinkOf(plan);
  RingRow member = {.ring = link.ring,
                    .customer = row.customer,
                    .row = row.number,
                    .time = row.time,
                    .hop = link.hop,
                    .pattern = RingPattern::kMuleChain,
                    .role = link.hop == 0 ? RingRole::kVictim : RingRole::kMule};
  if (row.fraud_role == FraudRole::kCashOut) member.role = RingRole::kCashOut;
  return tables_->Put(member);
}

}  // namespace reveza::datagen::coherent
