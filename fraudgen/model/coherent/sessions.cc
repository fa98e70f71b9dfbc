#include "fraudgen/model/coherent/sessions.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace reveza::fraudgen::coherent {
namespace {

// The numbers of sessions without payments are above those of payments.
constexpr uint64_t kPayments = 1'000'000'000'000;
constexpr uint64_t kNumbers = 1'000'000'000'000'000;  // of 15 digits

constexpr int64_t kLongestLogIn = 4 * kMinute;  // until the first payment
constexpr int64_t kNewEpisode = 4 * kDay;       // after the last payment of the same kind
// Of honest payments that begin a session, in millionths at difficulty 0.5: the customer got ready
// some time before.
constexpr uint64_t kPrepared = 10'000;
constexpr uint64_t kTriedAgain = 500'000;     // of failures
constexpr uint64_t kSimInNewPhone = 300'000;  // of new phones
constexpr uint64_t kAttackFound = 30'000;     // passwords that were right, of those tried
constexpr uint64_t kAccountsOfDevice = 6;     // that one device tries

bool IsByMule(FraudRole role) { return role == FraudRole::kMuleHop || role == FraudRole::kCashOut; }

bool IsOpen(const Person& person, int64_t time) {
  return time >= person.opened_at && time < person.closes_at;
}

}  // namespace

Sessions::Sessions(const World& world, const FraudBehaviour& fraud, uint64_t block,
                   TableBatches& tables)
    : world_(&world),
      tables_(&tables),
      log_ins_(world, fraud, block),
      first_customer_(world.FirstCustomer(block)),
      customers_(world.Customers(block)),
      next_number_(kPayments + (kNumbers - kPayments) / world.blocks() * block),
      wanted_(tables.Wants(kSessions)) {}

void Sessions::SetFrauds(std::span<const FraudPlan> plans) {
  if (!wanted_) return;
  plans_ = plans;
  // The last payments of victims and of fraudsters' devices, by scenario.
  std::unordered_map<uint64_t, int64_t> victims;
  std::unordered_map<uint64_t, int64_t> devices;
  const auto begins = [](std::unordered_map<uint64_t, int64_t>& last, uint64_t key, int64_t time) {
    const auto [found, added] = last.try_emplace(key, time);
    const int64_t before = std::exchange(found->second, time);
    return added || time - before > kNewEpisode;
  };
  for (uint32_t i = 0; i < plans.size(); ++i) {
    const FraudPlan& plan = plans[i];
    const LogInSigns& signs = world_->parameters().scenarios[plan.scenario].signs;
    if (!signs.Any() || IsByMule(plan.role)) continue;
    const auto key = [&](uint64_t number) { return number << 8 | plan.scenario; };
    if (begins(victims, key(plan.customer), plan.time)) PlanSigns(i);
    if (signs.tried_accounts.max == 0 || !plan.HasDevice()) continue;
    if (begins(devices, key(plan.fraudster), plan.time)) PlanAttack(i);
  }
  std::ranges::sort(planned_, {}, [](const Planned& each) {
    return std::tuple(each.time, each.customer, each.plan, each.index);
  });
}

// Plans the log-ins before a victim's first payment.
void Sessions::PlanSigns(uint32_t index) {
  const FraudPlan& plan = plans_[index];
  const LogInSigns& signs = world_->parameters().scenarios[plan.scenario].signs;
  Draws draws(Mix(plan.key) ^ static_cast<uint64_t>(Purpose::kSessions));
  if (!world_->parameters().RevealsTrait(draws)) return;
  const auto happens = [&](uint32_t thousandths) {
    return draws.Chance(uint64_t{thousandths} * 1'000);
  };
  Planned planned = {
      .time = plan.time -
              draws.Between(signs.log_in_minutes.min * kMinute, signs.log_in_minutes.max * kMinute),
      .customer = plan.customer,
      .plan = index,
      .own = !plan.HasDevice(),
      .password_reset = happens(signs.password_reset_thousandths),
      .limit_requested = happens(signs.limit_request_thousandths),
      .remote_access = happens(signs.remote_access_thousandths) && !plan.HasDevice()};
  if (planned.password_reset || planned.limit_requested || planned.remote_access) {
    planned_.push_back(planned);
  }
  for (int64_t left = draws.Between(signs.failed_log_ins); left > 0; --left) {
    planned.time -= draws.Between(20 * kMicrosecondsPerSecond, 20 * kMinute);
    planned_.push_back({.time = planned.time,
                        .customer = plan.customer,
                        .plan = index,
                        .own = planned.own,
                        .failed = true});
  }
}

// Plans attempts at accounts of others, most of which are never taken over.
void Sessions::PlanAttack(uint32_t index) {
  const FraudPlan& plan = plans_[index];
  const LogInSigns& signs = world_->parameters().scenarios[plan.scenario].signs;
  Draws draws(Mix(plan.key + 1) ^ static_cast<uint64_t>(Purpose::kSessions));
  int64_t time =
      plan.time - draws.Between(kMinute, 20 * kMinute) -
      draws.Between(signs.log_in_minutes.min * kMinute, signs.log_in_minutes.max * kMinute);
  const auto accounts = static_cast<uint64_t>(draws.Between(signs.tried_accounts));
  for (uint64_t i = 0; i < accounts; ++i) {
    planned_.push_back({.time = time,
                        .customer = static_cast<uint32_t>(draws.Below(customers_)),
                        .plan = index,
                        .index = static_cast<uint32_t>(i / kAccountsOfDevice),
                        .failed = !draws.Chance(kAttackFound)});
    time += draws.Between(kMicrosecondsPerSecond / 2, 25 * kMicrosecondsPerSecond);
  }
}

void Sessions::AddPlanned(const CustomerState& customer, const Planned& planned) {
  if (!IsOpen(customer.person, planned.time)) return;
  const FraudPlan& plan = plans_[planned.plan];
  const SessionOutcome outcome =
      planned.failed ? SessionOutcome::kFailed : SessionOutcome::kSuccess;
  Draws draws(Mix(plan.key + static_cast<uint64_t>(planned.time)) ^
              static_cast<uint64_t>(Purpose::kSessions));
  SessionRow row = planned.own ? log_ins_.OnOwnDevice(customer, planned.time, draws)
                               : log_ins_.OfFraudster(customer, plan, planned.index, planned.time,
                                                      outcome, draws);
  row.outcome = outcome;
  if (planned.failed) row.failed_attempts = std::max<uint8_t>(row.failed_attempts, 1);
  row.password_reset = planned.password_reset;
  row.limit_requested = planned.limit_requested;
  row.remote_access = planned.remote_access;
  rows_.push_back(row);
}

void Sessions::BeginMonth(std::span<const CustomerState> customers,
                          std::span<const ChangeRow> changes, const Slice& slice) {
  if (!wanted_) return;
  const PaymentTimes times(*world_, slice);
  for (const CustomerState& customer : customers) AddChecks(customer, times, slice);
  for (const ChangeRow& change : changes) {
    const CustomerState& customer = customers[change.customer - first_customer_];
    if (change.kind == ChangeKind::kSimChanged) SwapSim(customer, change.time);
    if (change.kind != ChangeKind::kPixKeyAdded) continue;
    Draws draws(Mix(customer.month.key + static_cast<uint64_t>(change.time)) ^
                static_cast<uint64_t>(Purpose::kSessions));
    const int64_t earliest = std::max(customer.person.opened_at, change.time / kDay * kDay);
    const int64_t time =
        change.time - draws.Between(0, std::min(change.time - earliest, kLongestLogIn));
    SessionRow row = log_ins_.OnOwnDevice(customer, time, draws);
    row.pix_key_added = true;
    rows_.push_back(row);
  }
  // Those before the first month are not in the data.
  for (; next_planned_ < planned_.size() && planned_[next_planned_].time < slice.end();
       ++next_planned_) {
    const Planned& planned = planned_[next_planned_];
    if (planned.time >= slice.begin()) AddPlanned(customers[planned.customer], planned);
  }
}

// Adds log-ins without payments, at the hours and days of payments.
void Sessions::AddChecks(const CustomerState& customer, const PaymentTimes& times,
                         const Slice& slice) {
  const Parameters& parameters = world_->parameters();
  const uint64_t odd =
      uint64_t{parameters.lookalikes.odd_hour} * parameters.LookalikeFactor() / 1'000;
  Draws draws(Mix(customer.month.key ^ static_cast<uint64_t>(Purpose::kSessions)));
  const uint64_t thousandths =
      customer.month.rows * LogInBehaviour::ChecksPerPayment(customer.person);
  const uint64_t checks = thousandths / 1'000 + (draws.Below(1'000) < thousandths % 1'000 ? 1 : 0);
  for (uint64_t i = 0; i < checks; ++i) {
    const int64_t time = times.Of(customer.person, static_cast<uint32_t>(odd), draws);
    const SessionRow row = log_ins_.Check(customer, time, draws);
    rows_.push_back(row);
    if (row.outcome == SessionOutcome::kSuccess || !draws.Chance(kTriedAgain)) continue;
    const int64_t later = time + draws.Between(kMinute, 30 * kMinute);
    if (later >= slice.end() || !IsOpen(customer.person, later)) continue;
    rows_.push_back(log_ins_.AfterFailure(customer, row, later, draws));
  }
}

void Sessions::Add(const CustomerState& customer, const Row& row) {
  if (!wanted_ || row.session != row.number) return;
  if (row.device == kNoDevice && row.channel != Channel::kBranch) return;
  Draws draws(world_->keys().Of(Purpose::kSessions, row.number));
  const int64_t earliest = std::max(customer.person.opened_at, row.time / kDay * kDay);
  const int64_t span = std::min(row.time - earliest, kLongestLogIn);
  const int64_t time = row.time - draws.Between(std::min(span, 5 * kMicrosecondsPerSecond), span);
  rows_.push_back(log_ins_.OfPayment(customer, row, time, draws));
  Prepare(customer, row, draws);
}

// Adds a log-in in the hours before a payment, on its day, of some customers.
void Sessions::Prepare(const CustomerState& customer, const Row& row, Draws& draws) {
  const Parameters& parameters = world_->parameters();
  if (!draws.Chance(kPrepared * parameters.LookalikeFactor() / 1'000)) return;
  const int64_t time = row.time - draws.Between(5 * kMinute, 240 * kMinute);
  if (time < row.time / kDay * kDay || !IsOpen(customer.person, time)) return;
  rows_.push_back(log_ins_.Preparation(customer, time, draws));
}

// Marks the first log-in of a device that was added, and with a new SIM card.
void Sessions::SeeDevice(CustomerState& customer, SessionRow& row) {
  if (row.outcome == SessionOutcome::kFailed || row.device == kNoDevice) return;
  const auto device = std::ranges::find(customer.devices, row.device, &KnownDevice::device);
  if (device == customer.devices.end()) return;
  const bool phone = row.channel == SessionChannel::kMobileApp;
  if (device->since >= world_->begin() && !device->logged_in) {
    device->logged_in = row.device_registered = true;
    Draws draws(Mix(row.device ^ customer.person.key) ^ static_cast<uint64_t>(Purpose::kSessions));
    LogInBehaviour::AuthenticateAnew(draws, row);
    row.sim_changed = phone && draws.Chance(kSimInNewPhone);
  }
  if (!phone) return;
  auto [sim, last] = new_sims_.equal_range(customer.person.number);
  while (sim != last) {
    const bool seen = sim->second <= row.time;
    row.sim_changed |= seen;
    sim = seen ? new_sims_.erase(sim) : std::next(sim);
  }
}

Status Sessions::EndMonth(std::span<CustomerState> customers, int64_t end) {
  if (!wanted_) return {};
  std::vector<std::pair<int64_t, uint32_t>> order;
  std::vector<SessionRow> later;
  order.reserve(rows_.size());
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].time < end) {
      order.emplace_back(rows_[i].time, i);
    } else {
      later.push_back(rows_[i]);
    }
  }
  std::ranges::sort(order);
  for (const auto& [time, index] : order) {
    SessionRow& row = rows_[index];
    if (row.number == SessionRow::kNoPayment) row.number = next_number_++;
    SeeDevice(customers[row.customer - first_customer_], row);
    RETURN_IF_ERROR(tables_->Put(row));
  }
  rows_ = std::move(later);
  return {};
}

}  // namespace reveza::fraudgen::coherent
