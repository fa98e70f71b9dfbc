#include "fraudgen/model/coherent/statements.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace reveza::fraudgen::coherent {
namespace {

constexpr uint64_t kEntryNumbers = 1'000'000'000'000'000;  // of 15 digits

// Of what arrives, in millionths: held for review at first, as what a mule receives may be; and
// moved to savings at once.
constexpr uint64_t kDelayed = 80'000;
constexpr uint64_t kSaved = 50'000;
constexpr int64_t kRoundSum = 5'000;

bool IsIncome(EntryKind kind) {
  return kind == EntryKind::kSalary || kind == EntryKind::kThirteenthSalary ||
         kind == EntryKind::kBusinessIncome;
}
EntryKind ReceiptOf(Kind kind) {
  return kind == Kind::kTed ? EntryKind::kTedReceived : EntryKind::kPixReceived;
}

// Draws a time in the minutes before `time`, not before `earliest`.
int64_t ShortlyBefore(int64_t time, int64_t earliest, Draws draws) {
  const int64_t span = std::min(time - earliest, 10 * kMinute);
  return span < 2 ? earliest : time - draws.Between(1, span);
}

bool IsDebit(EntryKind kind) {
  return kind == EntryKind::kCardBill || kind == EntryKind::kSavingsDeposit;
}

}  // namespace

Statements::Statements(const World& world, uint64_t block, TableBatches& tables)
    : world_(&world),
      tables_(&tables),
      first_customer_(world.FirstCustomer(block)),
      next_number_(kEntryNumbers / world.blocks() * block),
      wanted_(tables.Wants(kEntries)) {}

void Statements::SetFrauds(const FraudPlanner& planner, std::span<const FraudPlan> plans,
                           std::vector<Arrival> arrivals) {
  if (!wanted_) return;
  arrivals_ = std::move(arrivals);
  for (const FraudPlan& plan : plans) {
    if (!plan.IsCertain() || planner.LinkOf(plan).credit == 0) continue;
    last_hops_[HopKey(planner.LinkOf(plan).ring, plan.customer)] = plan.time;
  }
}

bool Statements::HasHop(uint64_t ring, uint64_t customer, int64_t time) const {
  const auto hop = last_hops_.find(HopKey(ring, customer));
  return hop != last_hops_.end() && hop->second > time;
}

Draws Statements::DrawsOf(const CustomerState& customer, int64_t time, Drawn drawn) {
  return Draws(Mix(customer.person.key ^ static_cast<uint64_t>(Purpose::kEntries)) ^
               Mix(static_cast<uint64_t>(time) + static_cast<uint64_t>(drawn)));
}

void Statements::Add(const CustomerState& customer, Entry entry) {
  entry.customer = IndexOf(customer);
  entries_.push_back(entry);
}

void Statements::Wait(CustomerState& customer, const Entry& entry) {
  Add(customer, entry);
  entries_.back().next = customer.statement.due;
  customer.statement.due = static_cast<uint32_t>(entries_.size() - 1);
}

void Statements::Receive(CustomerState& receiver, const Row& payment) {
  if (!wanted_) return;
  Wait(receiver, {.time = payment.time,
                  .amount = payment.amount,
                  .reference = payment.customer,
                  .kind = ReceiptOf(payment.kind),
                  .booked = true});
}

void Statements::ReceiveStolen(CustomerState& receiver, const Row& payment, uint64_t ring) {
  if (!wanted_) return;
  Wait(receiver, {.time = payment.time,
                  .amount = payment.amount,
                  .reference = payment.customer,
                  .ring = ring,
                  .kind = ReceiptOf(payment.kind),
                  .held = HasHop(ring, IndexOf(receiver), payment.time)});
}

// At once if possible; else shortly before the hop, on its day.
void Statements::Release(CustomerState& customer, uint64_t ring, int64_t time) {
  if (!wanted_) return;
  const int64_t earliest =
      std::max({customer.statement.last + 1, customer.last_time + 1, time / kDay * kDay});
  for (uint32_t index = customer.statement.due; index != CustomerState::kNothingDue;
       index = entries_[index].next) {
    Entry& entry = entries_[index];
    if (!entry.held || entry.ring != ring || entry.time > time) continue;
    entry.held = false;
    if (entry.time >= earliest) continue;
    entry.time = ShortlyBefore(time, earliest, DrawsOf(customer, entry.time, Drawn::kTime));
  }
}

Status Statements::BeginMonth(std::vector<CustomerState>& customers, const Slice& slice) {
  if (!wanted_) return {};
  RETURN_IF_ERROR(Put(slice.begin()));
  for (CustomerState& customer : customers) customer.statement.due = CustomerState::kNothingDue;
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].held) continue;
    uint32_t& due = customers[entries_[i].customer].statement.due;
    entries_[i].next = std::exchange(due, i);
  }
  const auto is_within = [&](int64_t time) { return time >= slice.begin() && time < slice.end(); };
  for (CustomerState& customer : customers) {
    const int64_t opens = std::max(customer.person.opened_at, world_->begin());
    if (is_within(opens)) {
      Wait(customer, {.time = opens,
                      .amount = customer.opening_balance,
                      .kind = EntryKind::kOpeningBalance,
                      .booked = true});
    }
    if (is_within(customer.person.closes_at)) {
      Wait(customer, {.time = customer.person.closes_at, .kind = EntryKind::kAccountClosed});
    }
  }
  for (; next_arrival_ < arrivals_.size() && arrivals_[next_arrival_].time < slice.end();
       ++next_arrival_) {
    const Arrival& arrival = arrivals_[next_arrival_];
    Wait(customers[arrival.customer], {.time = arrival.time,
                                       .amount = arrival.amount,
                                       .reference = arrival.payer,
                                       .ring = arrival.ring,
                                       .kind = EntryKind::kPixReceived,
                                       .held = true});
  }
  return {};
}

void Statements::Advance(CustomerState& customer, int64_t time) {
  if (!wanted_) return customer.Begin(time);
  const int64_t before = customer.balance;
  movements_.clear();
  customer.Begin(time, &movements_);
  if (customer.statement.due != CustomerState::kNothingDue || !movements_.empty()) {
    Post(customer, time, before);
  }
}

// Moves what is due until `time` to `due_`. Returns what is booked of all that waits.
int64_t Statements::TakeDue(CustomerState& customer, int64_t time) {
  int64_t booked = 0;
  uint32_t next = std::exchange(customer.statement.due, CustomerState::kNothingDue);
  while (next != CustomerState::kNothingDue) {
    const uint32_t index = next;
    Entry& entry = entries_[index];
    next = entry.next;
    if (entry.booked) booked += entry.amount;
    if (entry.time <= time && !entry.held) {
      entry.time = TimeOf(customer, entry, time);
      due_.push_back(index);
    } else {
      entry.next = std::exchange(customer.statement.due, index);
    }
  }
  return booked;
}

// Returns when an entry that is due is posted: what honest people receive, too, is sometimes held
// until some time before `until`. On that day: a later end of the data must not change earlier
// days.
int64_t Statements::TimeOf(const CustomerState& customer, const Entry& entry, int64_t until) const {
  if (!IsReceived(entry.kind) || !entry.booked) return entry.time;
  Draws draws = DrawsOf(customer, entry.time, Drawn::kDelay);
  if (!draws.Chance(kDelayed)) return entry.time;
  const int64_t delay = draws.Chance(500'000) ? draws.Between(kMinute, 30 * kMinute)
                                              : draws.Between(kHour, 26 * kHour);
  if (entry.time + delay < until) return entry.time + delay;
  return ShortlyBefore(until, std::max(entry.time, until / kDay * kDay), draws);
}

// Honest people, too, save what they received and take it back when they pay, as accounts with
// automatic savings do: else a movement of savings would name victims and mules.
void Statements::SaveSome(const CustomerState& customer, int64_t until) {
  const std::size_t received = due_.size();
  for (std::size_t i = 0; i < received; ++i) {
    const Entry& entry = entries_[due_[i]];
    if (!IsReceived(entry.kind)) continue;
    Draws draws = DrawsOf(customer, entry.time, Drawn::kSaving);
    const bool saved = draws.Chance(kSaved);
    const int64_t time = entry.time + draws.Between(2 * kMinute, 40 * kMinute);
    if (!saved || time >= until) continue;
    int64_t amount = entry.amount;
    if (amount > kRoundSum && draws.Chance(500'000)) amount -= amount % kRoundSum;
    Add(customer, {.time = time, .amount = -amount, .kind = EntryKind::kSavingsDeposit});
    due_.push_back(static_cast<uint32_t>(entries_.size() - 1));
  }
}

// Posts what happened since the customer advanced last. The balance was `before` then, plus what is
// booked since.
void Statements::Post(CustomerState& customer, int64_t time, int64_t before) {
  CustomerState::Statement& statement = customer.statement;
  due_.clear();
  int64_t balance = before - TakeDue(customer, time) + statement.ahead;
  SaveSome(customer, time);
  for (const Movement& movement : movements_) {
    if (IsDebit(movement.kind)) continue;
    Add(customer, {.time = movement.time,
                   .amount = movement.amount,
                   .reference = movement.reference,
                   .kind = movement.kind});
    due_.push_back(static_cast<uint32_t>(entries_.size() - 1));
  }
  std::ranges::sort(due_, {},
                    [this](uint32_t index) { return std::tuple(entries_[index].time, index); });
  statement.last = std::max(statement.last, customer.last_time);
  for (const uint32_t index : due_) {
    Entry& entry = entries_[index];
    // Of a closed account only what was under way is posted.
    const bool closed = entry.time >= customer.person.closes_at;
    if (entry.kind == EntryKind::kAccountClosed) {
      entry.amount = -balance;
    } else if (closed && (IsIncome(entry.kind) || IsDebit(entry.kind))) {
      entry.amount = 0;
      continue;
    }
    entry.time = statement.last = std::max(entry.time, statement.last + 1);
    entry.balance = balance += entry.amount;
  }
  if (time < customer.person.closes_at) PostDebits(customer, time, balance);
  statement.ahead = balance - customer.balance;
}

// Posts the bill of the card and what goes to savings: in the night before the customer's next
// payment, when both are known.
void Statements::PostDebits(CustomerState& customer, int64_t time, int64_t& balance) {
  int64_t debits = 0;
  for (const Movement& movement : movements_) {
    if (IsDebit(movement.kind)) debits += movement.amount;
  }
  if (debits == 0) return;
  const int64_t night = time / kDay * kDay;
  // The simulation's balance suffices, so savings are taken back first.
  if (const int64_t saved = customer.balance - debits - balance; saved > 0) {
    PostLast(customer, night, EntryKind::kSavingsWithdrawal, saved, balance);
  }
  for (const Movement& movement : movements_) {
    if (IsDebit(movement.kind)) {
      PostLast(customer, night, movement.kind, movement.amount, balance);
    }
  }
}

void Statements::PostLast(CustomerState& customer, int64_t time, EntryKind kind, int64_t amount,
                          int64_t& balance) {
  CustomerState::Statement& statement = customer.statement;
  statement.last = std::max(time, statement.last + 1);
  balance += amount;
  Add(customer, {.time = statement.last, .amount = amount, .balance = balance, .kind = kind});
}

// On the day of the payment: a later end of the data must not change earlier days.
void Statements::Align(CustomerState& customer, int64_t time, int64_t booked) {
  CustomerState::Statement& statement = customer.statement;
  statement.ahead -= booked;
  if (!wanted_ || statement.ahead == 0) return;
  const int64_t amount = -std::exchange(statement.ahead, 0);
  statement.last = std::max(statement.last, customer.last_time);
  const int64_t earliest = std::max(statement.last + 1, time / kDay * kDay);
  const int64_t when = ShortlyBefore(time, earliest, DrawsOf(customer, time, Drawn::kTime));
  int64_t balance = customer.balance - amount;
  PostLast(customer, when, amount > 0 ? EntryKind::kSavingsWithdrawal : EntryKind::kSavingsDeposit,
           amount, balance);
}

Status Statements::Put(int64_t end) {
  std::vector<std::pair<int64_t, uint32_t>> order;
  std::vector<Entry> later;
  order.reserve(entries_.size());
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].time >= end || entries_[i].held) {
      later.push_back(entries_[i]);
    } else if (entries_[i].amount != 0) {
      order.emplace_back(entries_[i].time, i);
    }
  }
  std::ranges::sort(order);
  for (const auto& [time, index] : order) {
    const Entry& entry = entries_[index];
    RETURN_IF_ERROR(tables_->Put(EntryRow{.number = next_number_++,
                                          .customer = first_customer_ + entry.customer,
                                          .time = time,
                                          .amount = entry.amount,
                                          .balance = entry.balance,
                                          .reference = entry.reference,
                                          .kind = entry.kind}));
  }
  entries_ = std::move(later);
  return {};
}

}  // namespace reveza::fraudgen::coherent
