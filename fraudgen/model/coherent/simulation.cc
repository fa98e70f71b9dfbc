#include "fraudgen/model/coherent/simulation.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "fraudgen/model/coherent/customer_state.h"
#include "fraudgen/model/coherent/new_devices.h"
#include "fraudgen/model/coherent/review.h"

namespace reveza::fraudgen::coherent {

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
      labels_(world),
      slices_(SlicesOf(world)),
      changes_(world, tables.identity()),
      statements_(world, block, tables),
      sessions_(world, fraud_, block, tables),
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
    // Expected rows of a month of 730 hours, in sixteenths.
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
  // An account that no fraud uses has no role in any.
  std::vector<bool> acting(customers_.size());
  for (const FraudPlan& plan : plans_) acting[plan.customer] = true;
  for (uint64_t i = 0; i < customers_.size(); ++i) {
    const CustomerState& customer = customers_[i];
    AccountRow account = {.person = customer.person, .opening_balance = customer.opening_balance};
    if (acting[i] && IsKnown(i)) account.role = planner_.mules().RoleOf(i);
    RETURN_IF_ERROR(tables_->Put(account));
    for (const KnownDevice& device : customer.devices) {
      RETURN_IF_ERROR(tables_->Put(DeviceUseRow{.device = device.device,
                                                .customer = customer.person.number,
                                                .since = device.since,
                                                .profile = ProfileOf(device, customer)}));
    }
  }
  return {};
}

Status Simulation::PutRings() {
  const Mules& mules = planner_.mules();
  for (uint64_t i = 0; i < planner_.ActiveMules(); ++i) {
    if (!IsKnown(mules.Mule(i))) continue;
    const RingRow member = {.ring = planner_.RingNumber(i),
                            .customer = first_customer_ + mules.Mule(i),
                            .pattern = RingPattern::kSharedDevice,
                            .role = RingRole::kMember};
    RETURN_IF_ERROR(tables_->Put(member));
  }
  return {};
}

Status Simulation::Run() {
  MakeCustomers();
  std::vector<Arrival> arrivals;
  plans_ = planner_.Plan(statements_.wanted() ? &arrivals : nullptr);
  statements_.SetFrauds(planner_, plans_, std::move(arrivals));
  sessions_.SetFrauds(plans_);
  Status status = PutCustomers();
  if (!status || !tables_->WantsRows()) return status ? tables_->Flush() : status;
  status = PutRings();
  OrderByDevice();
  order_.Reserve(MaxEvents());
  for (const Slice& slice : slices_) {
    if (status && slice.begin() < world_->written_end()) status = RunSlice(slice);
  }
  if (status) status = EndStatements();
  return status ? tables_->Flush() : status;
}

// Returns the part of the block's honest rows that corresponds to a part of the total weight.
uint64_t Simulation::HonestRows(uint64_t weight) const {
  const unsigned __int128 all = world_->Rows(block_) - world_->Frauds(block_);
  return weight_ == 0 ? 0 : static_cast<uint64_t>(all * weight / weight_);
}

// Returns an upper bound of the events of the busiest month.
uint64_t Simulation::MaxEvents() const {
  uint64_t max = 0;
  auto plan = plans_.begin();
  for (std::size_t k = 0; k < slices_.size(); ++k) {
    const auto after =
        std::ranges::lower_bound(plan, plans_.end(), slices_[k].end(), {}, &FraudPlan::time);
    // Plus one for rounding.
    max = std::max(max, HonestRows(weights_[k]) + 1 + static_cast<uint64_t>(after - plan));
    plan = after;
  }
  return max;
}

uint64_t Simulation::CountRows() {
  const int64_t end = world_->written_end();
  if (end == world_->end()) return world_->Rows(block_);
  MakeCustomers();
  plans_ = planner_.Plan();
  const auto later = std::ranges::lower_bound(plans_, end, {}, &FraudPlan::time);
  auto rows = static_cast<uint64_t>(later - plans_.begin());
  next_plan_ = plans_.size();
  for (const Slice& slice : slices_) {
    if (slice.end() > end) {
      rows += HonestRows(weight_before_);
      // In the last, partial month the times decide.
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

std::vector<bool> Simulation::FindKnownAccounts() {
  std::vector<bool> known(world_->Customers(block_));
  MakeCustomers();
  plans_ = planner_.Plan();
  order_.Reserve(MaxEvents());
  for (const Slice& slice : slices_) {
    if (!labels_.Knows(slice.begin())) break;
    PlanSlice(slice);
    for (std::size_t i = 0; i < order_.size(); ++i, ++next_row_) {
      const Event event = order_.At(i);
      if (!event.fraud) continue;
      const FraudPlan& plan = plans_[event.index];
      // What the time of the report depends on.
      Row row;
      row.number = next_row_;
      row.time = plan.time;
      row.scenario = plan.scenario;
      row.fraud_role = plan.role;
      row.is_fraud = true;
      if (labels_.KnowsReport(fraud_.ReportedAt(row))) known[plan.customer] = true;
    }
  }
  return known;
}

// Plans the number and times of each customer's rows this month, and other changes.
void Simulation::PlanSlice(const Slice& slice) {
  const PaymentTimes times(*world_, slice);
  order_.Begin(slice.begin());
  changes_.Begin(slice);
  uint64_t done = HonestRows(weight_before_);
  for (uint32_t i = 0; i < customers_.size(); ++i) {
    CustomerState& customer = customers_[i];
    statements_.Advance(customer, slice.begin());
    weight_before_ += Activity(customer.person, slice);
    // Cumulative rounding makes the counts add up.
    const uint64_t until = HonestRows(weight_before_);
    customer.month = honest_.PlanMonth(customer.person, slice, static_cast<uint32_t>(until - done));
    done = until;
    changes_.SimulateMonth(customer, slice);
    const int64_t phone = customer.month.new_phone_at = NewPhoneAt(honest_, customer, slice, times);
    if (phone > std::max(customer.person.opened_at, slice.begin()) &&
        phone < customer.person.closes_at) {
      changes_.ReplacePhone(customer, phone);
    } else {
      customer.month.new_phone_at = kNever;
    }
    order_.BeginCustomer(i);
    for (uint32_t k = 0; k < customer.month.rows; ++k) {
      order_.Add(TimeOf(customer, slice, times, k));
    }
  }
  order_.BeginFrauds(static_cast<uint32_t>(next_plan_));
  for (; next_plan_ < plans_.size() && plans_[next_plan_].time < slice.end(); ++next_plan_) {
    order_.Add(plans_[next_plan_].time);
  }
  order_.Sort();
}

// The last row of a month may send money to a relative, minutes before that one passes it on.
int64_t Simulation::TimeOf(CustomerState& customer, const Slice& slice, const PaymentTimes& times,
                           uint32_t index) const {
  const int64_t usual = honest_.TimeOf(customer, slice, times, index);
  const uint64_t number = customer.person.number;
  const uint64_t place = number % World::kHousehold;
  const uint64_t first = number - place - first_customer_;
  if (index + 1 != customer.month.rows || index < customer.month.standing_orders || place == 0 ||
      first >= customers_.size()) {
    return usual;
  }
  const CustomerState& relative = customers_[first];
  Draws draws(Mix(relative.month.key ^ static_cast<uint64_t>(Purpose::kTies)));
  if (!relative.month.passes_on || 1 + draws.Below(World::kHousehold - 1) != place) return usual;
  const int64_t time = honest_.TimeOf(relative, slice, times, relative.month.rows - 1) -
                       draws.Between(2 * kMinute, 25 * kMinute);
  if (time < std::max(slice.begin(), customer.person.opened_at) ||
      time >= customer.person.closes_at) {
    return usual;
  }
  customer.month.sends_to = relative.person.number;
  return time;
}

Status Simulation::RunSlice(const Slice& slice) {
  PlanSlice(slice);
  RETURN_IF_ERROR(statements_.BeginMonth(customers_, slice));
  sessions_.BeginMonth(customers_, changes_.rows(), slice);
  for (std::size_t i = 0; i < std::min(kPrefetchDistance, order_.size()); ++i)
    upcoming_[i] = order_.At(i);
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (order_.TimeAt(i) >= world_->written_end()) break;
    const Event event = Next(i);
    RETURN_IF_ERROR(event.fraud ? MakeFraud(plans_[event.index])
                                : MakeHonest(order_.TimeAt(i), event));
  }
  RETURN_IF_ERROR(changes_.Put(*tables_));
  return sessions_.EndMonth(customers_, std::min(slice.end(), world_->written_end()));
}

Status Simulation::EndStatements() {
  if (!statements_.wanted()) return {};
  for (CustomerState& customer : customers_) statements_.Advance(customer, world_->written_end());
  return statements_.End(world_->written_end());
}

// The customers' states exceed the cache, so those of later rows are prefetched: first the objects,
// then what they point to.
Event Simulation::Next(std::size_t place) {
  constexpr std::size_t kNear = 5;
  constexpr std::size_t kLine = 64;
  if (const std::size_t far = place + kPrefetchDistance; far < order_.size()) {
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
    return std::tuple(plans_[i].customer, plans_[i].fraudster, plans_[i].time);
  });
}

// Returns the last use of a fraudster's device with this account.
int64_t Simulation::LastUse(const FraudPlan& plan) const {
  const auto of_both = [this](uint32_t i) {
    return std::pair(plans_[i].customer, plans_[i].fraudster);
  };
  const auto after =
      std::ranges::upper_bound(by_device_, std::pair(plan.customer, plan.fraudster), {}, of_both);
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
  statements_.Advance(customer, time);
  statements_.Align(customer, time);
  Row& row = NewRow(customer, time);
  honest_.Pay(customer, event.index, row);
  // Receivers must have an open account.
  if (const uint64_t local = row.receiver - first_customer_;
      local < customers_.size() &&
      (customers_[local].person.opened_at > time || customers_[local].person.closes_at <= time)) {
    row.receiver = world_->StrangerAccount(row.number);
    row.contact = -1;
    row.stranger = true;
  }
  Draws draws(Mix(customer.month.key + event.index) ^ static_cast<uint64_t>(Purpose::kSettlements));
  return Finish(customer, false, draws, row);
}

Status Simulation::MakeFraud(const FraudPlan& plan) {
  CustomerState& customer = customers_[plan.customer];
  if (plan.IsCertain() && planner_.LinkOf(plan).credit > 0) {
    statements_.Release(customer, planner_.LinkOf(plan).ring, plan.time);
  }
  statements_.Advance(customer, plan.time);
  const int64_t before = customer.balance;
  if (plan.IsCertain()) {
    customer.balance += planner_.LinkOf(plan).credit;
    // Victims of a chain draw on their savings, of which they move round sums.
    constexpr int64_t kSavings = 5'000;
    const int64_t missing = std::max<int64_t>(0, plan.amount - customer.balance);
    customer.balance += (missing + kSavings - 1) / kSavings * kSavings;
  }
  statements_.Align(customer, plan.time, customer.balance - before);
  Row& row = NewRow(customer, plan.time);
  fraud_.Pay(customer, plan, block_, row);
  const DeviceNumber device = row.device;
  const bool added = device != kNoDevice && customer.Find(device) == nullptr;
  if (added) {
    const Scenario& scenario = world_->parameters().scenarios[plan.scenario];
    const int64_t since = ThiefsDeviceSince(scenario, customer.person, plan);
    changes_.AddDevice(customer,
                       {.device = device, .since = since, .registered = scenario.sim_swap});
    if (scenario.sim_swap) {
      changes_.SwapSim(customer, since);
      sessions_.SwapSim(customer, std::max(since, plan.time / kDay * kDay));
    }
  }
  Draws draws(Mix(plan.key) ^ static_cast<uint64_t>(Purpose::kSettlements));
  if (plan.IsCertain() && labels_.KnowsReport(fraud_.ReportedAt(row))) {
    RETURN_IF_ERROR(PutRingRow(plan, row));
  }
  ring_ = plan.IsCertain() ? planner_.LinkOf(plan).ring : 0;
  const Status finished = Finish(customer, plan.IsCertain(), draws, row);
  if (added && reported_at_ != kNever && plan.role == FraudRole::kTakeover) {
    Draws removal(Mix(plan.key) ^ static_cast<uint64_t>(Purpose::kDevice));
    const int64_t removed_at =
        std::max(LastUse(plan), reported_at_) + removal.Between(kHour, 3 * kDay);
    if (labels_.Knows(removed_at)) changes_.RemoveDevice(customer, device, removed_at);
  }
  return finished;
}

Status Simulation::Finish(CustomerState& customer, bool certain, Draws& draws, Row& row) {
  if (row.amount <= kMinInstallmentAmount) row.installments = 1;
  bank_.DeriveFeatures(customer, row);
  if (!certain) bank_.CapAtLimits(customer, draws, row);
  bank_.Decide(customer, certain, draws, row);
  bank_.Book(customer, row);
  row.reported_at = reported_at_ = fraud_.ReportedAt(row);
  if (row.alert) Review(*world_, row);
  RETURN_IF_ERROR(Settle(customer, certain, draws, row));
  sessions_.Add(customer, row);
  labels_.Reduce(row);
  return tables_->PutRow();
}

// Within the block money arrives immediately, or when a pending payment settles. The money of a
// chain is booked with the next hop.
Status Simulation::Settle(CustomerState& customer, bool certain, Draws& draws, const Row& row) {
  if (!IsPaid(row)) return {};
  const bool inside = ReceiverInBlock(row);
  const bool pending = row.status == PaymentStatus::kPending;
  if (inside && !pending) {
    CustomerState& receiver = customers_[row.receiver - first_customer_];
    if (row.is_fraud) {
      statements_.ReceiveStolen(receiver, row, ring_);
    } else {
      statements_.Receive(receiver, row);
      receiver.balance += row.amount;
      receiver.debt = {.time = row.time, .to = row.customer, .amount = row.amount};
    }
  }
  const bool card = row.kind == Kind::kCreditCard;
  if (IsDisputed(row)) {
    const Movement refund = RefundOf(row, DecisionOf(*world_, row));
    if (refund.amount > 0) customer.ExpectCredit(refund, card);
  }
  if (certain) return {};
  const auto settlement = SettlementOf(world_->parameters().outcomes, row, inside, draws);
  if (!settlement) return {};
  if (settlement->returned > 0) customer.ExpectCredit(ReturnOf(*settlement), card);
  if (inside && !row.is_fraud) {
    customers_[row.receiver - first_customer_].ExpectCredit(ArrivalOf(*settlement), false);
  }
  return labels_.Knows(settlement->time) ? tables_->Put(*settlement) : Status();
}

Status Simulation::PutRingRow(const FraudPlan& plan, const Row& row) {
  const ChainLink& link = planner_.LinkOf(plan);
  RingRow member = {.ring = link.ring,
                    .customer = row.customer,
                    .row = row.number,
                    .time = row.time,
                    .hop = link.hop,
                    .pattern = link.pattern,
                    .role = link.hop == 0 ? RingRole::kVictim : RingRole::kMule};
  if (row.fraud_role == FraudRole::kCashOut) member.role = RingRole::kCashOut;
  return tables_->Put(member);
}

}  // namespace reveza::fraudgen::coherent
