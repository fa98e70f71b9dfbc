#include "datagen/check/timeline.h"

#include <charconv>
#include <cmath>
#include <numbers>

#include "datagen/civil_time.h"
#include "datagen/random.h"

namespace reveza::datagen::check {
namespace {

constexpr int64_t kMinute = 60 * kMicrosecondsPerSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = kMicrosecondsPerDay;

// In kilometres, from positions in millionths of a degree. The documentation has a flat map with
// the longitude shortened by the cosine of the latitude.
double Distance(int64_t latitude, int64_t longitude, int64_t other_latitude,
                int64_t other_longitude) {
  constexpr double kKilometresOfDegree = 111.195;
  constexpr double kMillionth = 1e-6;
  const double north = static_cast<double>(latitude - other_latitude) * kMillionth;
  const double middle = static_cast<double>(latitude + other_latitude) / 2 * kMillionth;
  const double east = static_cast<double>(longitude - other_longitude) * kMillionth *
                      std::cos(middle * std::numbers::pi / 180);
  return kKilometresOfDegree * std::hypot(north, east);
}

bool IsNight(int64_t time) { return time % kDay >= 20 * kHour || time % kDay < 6 * kHour; }

}  // namespace

uint64_t TimelineCheck::PairOf(uint64_t one, uint64_t other) { return Mix(Mix(one) + other); }

uint64_t TimelineCheck::HexadecimalOf(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

// The columns of a batch of payments.
struct TimelineCheck::Payments {
  explicit Payments(const Batch& batch)
      : id(batch, "transaction_id"),
        customer(batch, "customer_id"),
        device(batch, "device_id"),
        time(batch, "timestamp"),
        type(batch, "type"),
        amount(batch, "amount"),
        latitude(batch, "geolocation_lat"),
        longitude(batch, "geolocation_lon"),
        card(batch, "card_number_hash"),
        receiver(batch, "counterparty_account"),
        distance(batch, "distance_from_last_txn_km"),
        minutes(batch, "time_since_last_txn_min"),
        count(batch, "transactions_last_24h"),
        accumulated(batch, "accumulated_amount_24h"),
        unusual(batch, "unusual_time"),
        beneficiary(batch, "new_beneficiary"),
        status(batch, "status"),
        score(batch, "risk_score"),
        balance(batch, "balance_after"),
        is_fraud(batch, "is_fraud"),
        reported(batch, "fraud_reported_at") {}

  // What a row must have to be part of a timeline.
  bool Complete(std::size_t row) const {
    for (const Field* field : {&id, &customer, &time, &type, &amount, &count, &accumulated,
                               &unusual, &beneficiary, &status, &score, &balance, &is_fraud}) {
      if (!field->Has(row)) return false;
    }
    return true;
  }
  bool HasPlace(std::size_t row) const { return latitude.Has(row) && longitude.Has(row); }
  bool IsPaid(std::size_t row) const {
    return status.Is(row, "APPROVED") || status.Is(row, "PENDING");
  }

  Field id, customer, device, time, type, amount, latitude, longitude, card, receiver, distance,
      minutes, count, accumulated, unusual, beneficiary, status, score, balance, is_fraud, reported;
};

void TimelineCheck::Look(const Batch& batch, const Position& position) {
  const std::string_view table = batch.table().name;
  if (table == "customers") AddCustomers(batch);
  if (table == "accounts") AddAccounts(batch);
  if (table == "devices") AddDevices(batch, position);
  if (table == "settlements") AddSettlements(batch);
  if (table == "disputes") AddRefunds(batch);
  if (table == "alerts") AddMentions(batch, "alerted_at", "risk_score", alerts_);
  if (table == "disputes") AddMentions(batch, "opened_at", "claimed_amount", disputes_);
  if (table == "rings") AddMentions(batch, "at", "", rings_);
  if (table == "changes") LookAtChanges(batch, position);
  if (table == "transactions") LookAtPayments(batch, position);
}

// Money that comes later: back to who paid, or on to the receiver of a payment that settles.
void TimelineCheck::LookAtAftermath(const Payments& rows, const Position& position, std::size_t row,
                                    uint64_t id, Account& account) {
  const bool card = rows.type.Is(row, "CREDIT_CARD");
  if (const auto refund = refunds_.find(id); refund != refunds_.end() && !card) {
    account.coming.push_back({refund->second.time, refund->second.returned});
  }
  const bool pending = rows.status.Is(row, "PENDING");
  const auto found = settlements_.find(id);
  if (found == settlements_.end() && !pending) return;
  settlement_.Look();
  const auto describe = [&] { return std::string(rows.id.Text(row)); };
  if (found == settlements_.end()) return settlement_.Bad(position, row, describe);
  Aftermath& settlement = found->second;
  settlement.found = true;
  const bool fits =
      pending ? !settlement.reversed : settlement.reversed && rows.status.Is(row, "APPROVED");
  if (!fits || settlement.customer != NumberOf(rows.customer.Text(row)) ||
      settlement.amount != rows.amount.Number(row) || settlement.time <= rows.time.Number(row)) {
    settlement_.Bad(position, row, describe);
  }
  if (!card) account.coming.push_back({settlement.time, settlement.returned});
  if (!pending || !settlement.settled || !rows.receiver.Has(row) || rows.is_fraud.Flag(row)) {
    return;
  }
  const auto owner = owners_.find(NumberOf(rows.receiver.Text(row)));
  if (owner == owners_.end()) return;
  accounts_.at(owner->second).coming.push_back({settlement.time, settlement.amount});
}

// Neither a closed account nor a removed device pays.
void TimelineCheck::LookAtEnds(const Payments& rows, const Position& position, std::size_t row) {
  const int64_t time = rows.time.Number(row);
  const uint64_t customer = NumberOf(rows.customer.Text(row));
  const auto describe = [&] { return std::string(rows.id.Text(row)); };
  closed_.Look();
  const auto closing = closings_.find(customer);
  bool closed = closing != closings_.end() && time >= closing->second;
  if (rows.receiver.Has(row)) {
    const auto owner = owners_.find(NumberOf(rows.receiver.Text(row)));
    const auto theirs = owner == owners_.end() ? closings_.end() : closings_.find(owner->second);
    closed = closed || (theirs != closings_.end() && time >= theirs->second);
  }
  if (closed) closed_.Bad(position, row, describe);
  if (!rows.device.Has(row)) return;
  removed_.Look();
  const auto removal = removals_.find(PairOf(NumberOf(rows.device.Text(row)), customer));
  if (removal != removals_.end() && time >= removal->second) removed_.Bad(position, row, describe);
}

void TimelineCheck::LookAtPayments(const Batch& batch, const Position& position) {
  const Payments rows(batch);
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    if (!rows.Complete(row)) continue;
    const int64_t time = rows.time.Number(row);
    const auto describe = [&] { return std::string(rows.id.Text(row)); };
    order_.Look();
    if (time < last_time_) order_.Bad(position, row, describe);
    last_time_ = time;
    const uint64_t id = NumberOf(rows.id.Text(row));
    const uint64_t customer = NumberOf(rows.customer.Text(row));
    LookAtEnds(rows, position, row);
    Mention payment{.customer = customer, .time = time, .number = rows.score.Number(row)};
    LookAtMention(position, row, payment, id, alerts_, alert_);
    payment.number = 0;
    LookAtMention(position, row, payment, id, rings_, ring_);
    payment.number = rows.amount.Number(row);
    payment.time = rows.reported.Has(row) ? rows.reported.Number(row) : INT64_MIN;
    LookAtMention(position, row, payment, id, disputes_, dispute_);
    const auto account = accounts_.find(customer);
    if (account == accounts_.end()) continue;  // its key is looked at elsewhere
    opened_.Look();
    if (time < account->second.opened_at) opened_.Bad(position, row, describe);
    if (rows.device.Has(row)) {
      const auto use = first_uses_.find(PairOf(NumberOf(rows.device.Text(row)), customer));
      if (use != first_uses_.end()) {
        device_.Look();
        if (time < use->second) device_.Bad(position, row, describe);
      }
    }
    if (rows.card.Has(row)) {
      card_.Look();
      const auto card = cards_.emplace(HexadecimalOf(rows.card.Text(row)), customer).first;
      if (card->second != customer) card_.Bad(position, row, describe);
    }
    LookAtHistory(rows, position, row, account->second);
    LookAtMoney(rows, position, row, account->second);
    LookAtReceiver(rows, position, row, customer);
    LookAtAftermath(rows, position, row, id, account->second);
  }
}

// Columns that follow from the customer's rows before.
void TimelineCheck::LookAtHistory(const Payments& rows, const Position& position, std::size_t row,
                                  Account& account) {
  const int64_t time = rows.time.Number(row);
  const auto compare = [&](Tally& tally, bool good, const auto& expected) {
    tally.Look();
    if (good) return;
    tally.Bad(position, row,
              [&] { return fmt::format("{}, should be {}", rows.id.Text(row), expected); });
  };
  while (!account.recent.empty() && account.recent.front().time <= time - kDay) {
    account.recent_amount -= account.recent.front().amount;
    account.recent.pop_front();
  }
  const auto recent = static_cast<int64_t>(account.recent.size());
  compare(count_, rows.count.Number(row) == recent, recent);
  compare(accumulated_, rows.accumulated.Number(row) == account.recent_amount,
          static_cast<double>(account.recent_amount) / 100);

  const int64_t minutes = account.has_row ? (time - account.last_time) / kMinute : 0;
  compare(minutes_,
          rows.minutes.Has(row) == account.has_row &&
              (!account.has_row || rows.minutes.Number(row) == minutes),
          account.has_row ? fmt::format("{}", minutes) : "null");

  if (rows.HasPlace(row)) {
    const int64_t latitude = rows.latitude.Number(row);
    const int64_t longitude = rows.longitude.Number(row);
    const double distance =
        account.has_place ? Distance(latitude, longitude, account.latitude, account.longitude) : 0;
    const double said =
        rows.distance.Has(row) ? static_cast<double>(rows.distance.Number(row)) / 100 : 0;
    // As right as such a map is.
    compare(distance_,
            rows.distance.Has(row) == account.has_place &&
                std::abs(said - distance) <= 0.05 + 0.01 * distance,
            distance);
    account.has_place = true;
    account.latitude = latitude;
    account.longitude = longitude;
  } else {
    compare(distance_, !rows.distance.Has(row), "null");
  }

  constexpr uint32_t kRowsUntilUsual = 30;
  constexpr uint32_t kRare = 50;  // one in so many
  auto& in_this_hour = account.hours[static_cast<std::size_t>(time % kDay / kHour)];
  const bool unusual = account.rows >= kRowsUntilUsual && in_this_hour * kRare < account.rows;
  compare(unusual_, rows.unusual.Flag(row) == unusual, unusual);

  ++in_this_hour;
  ++account.rows;
  const int64_t amount = rows.status.Is(row, "APPROVED") ? rows.amount.Number(row) : 0;
  account.recent.push_back({time, amount});
  account.recent_amount += amount;
}

// Salaries and bills are no rows. They come at the begin of a day, at five at the latest, so what
// is later on one day must add up; frauds may bring money from elsewhere.
void TimelineCheck::LookAtMoney(const Payments& rows, const Position& position, std::size_t row,
                                Account& account) {
  constexpr int64_t kAfterSalary = 5 * kHour;
  const int64_t time = rows.time.Number(row);
  const int64_t amount = rows.amount.Number(row);
  const bool paid = rows.IsPaid(row);
  const int64_t spent = paid && !rows.type.Is(row, "CREDIT_CARD") ? amount : 0;
  std::erase_if(account.coming, [&](const Account::Recent& coming) {
    if (coming.time > time) return false;
    account.credited += coming.amount;
    return true;
  });
  const bool same_day = account.has_row && account.last_time / kDay == time / kDay &&
                        account.last_time % kDay >= kAfterSalary;
  if (same_day && !rows.is_fraud.Flag(row)) {
    const int64_t expected = account.balance + account.credited - spent;
    balance_.Look();
    if (rows.balance.Number(row) != expected) {
      balance_.Bad(position, row, [&] {
        return fmt::format("{}, should be {:.2f}", rows.id.Text(row),
                           static_cast<double>(expected) / 100);
      });
    }
  }
  account.has_row = true;
  account.last_time = time;
  account.balance = rows.balance.Number(row);
  account.credited = 0;
  if (!paid || !rows.type.Is(row, "PIX") || !IsNight(time)) return;
  // A night belongs to the day on which it began.
  const int64_t night = (time - 6 * kHour) / kDay;
  if (night != account.night) account.night_amount = 0;
  account.night = night;
  account.night_amount += amount;
  night_.Look();
  if (account.night_amount > account.night_limit) {
    night_.Bad(position, row, [&] { return std::string(rows.id.Text(row)); });
  }
}

void TimelineCheck::LookAtReceiver(const Payments& rows, const Position& position, std::size_t row,
                                   uint64_t customer) {
  const auto describe = [&] { return std::string(rows.id.Text(row)); };
  beneficiary_.Look();
  if (!rows.receiver.Has(row)) {
    if (rows.beneficiary.Flag(row)) beneficiary_.Bad(position, row, describe);
    return;
  }
  const uint64_t receiver = NumberOf(rows.receiver.Text(row));
  const uint64_t pair = PairOf(customer, receiver);
  if (rows.beneficiary.Flag(row) && paid_.contains(pair)) beneficiary_.Bad(position, row, describe);
  if (rows.IsPaid(row)) paid_.insert(pair);
  const auto owner = owners_.find(receiver);
  if (owner == owners_.end()) return;
  Account& account = accounts_.at(owner->second);
  receiver_opened_.Look();
  if (rows.time.Number(row) < account.opened_at) receiver_opened_.Bad(position, row, describe);
  // What a fraud moves is there with the next hop, what is pending when it settles.
  if (rows.status.Is(row, "APPROVED") && !rows.is_fraud.Flag(row))
    account.credited += rows.amount.Number(row);
}

void TimelineCheck::LookAtMention(const Position& position, std::size_t row, const Mention& payment,
                                  uint64_t id, Mentions& mentions, Tally& tally) {
  const auto found = mentions.find(id);
  if (found == mentions.end()) return;
  Mention& mention = found->second;
  mention.found = true;
  tally.Look();
  if (mention.customer != payment.customer || mention.time != payment.time ||
      mention.number != payment.number) {
    tally.Bad(position, row, [&] { return fmt::format("TXN_{:015}", id); });
  }
}

void TimelineCheck::EndBlock() {
  for (const auto& [mentions, tally] :
       {std::pair{&alerts_, &alert_}, {&disputes_, &dispute_}, {&rings_, &ring_}}) {
    for (const auto& [id, mention] : *mentions) {
      if (!mention.found) tally->Bad(fmt::format("TXN_{:015} is not in transactions", id));
    }
    mentions->clear();
  }
  for (const auto& [id, settlement] : settlements_) {
    if (!settlement.found) {
      settlement_.Bad(fmt::format("TXN_{:015} is not in transactions", id));
    }
  }
  settlements_.clear();
  refunds_.clear();
  accounts_.clear();
  owners_.clear();
  first_uses_.clear();
  removals_.clear();
  closings_.clear();
  values_.clear();
  things_.clear();
  cards_.clear();
  paid_.clear();
  last_time_ = INT64_MIN;
  last_change_ = INT64_MIN;
}

void TimelineCheck::Report(std::vector<Outcome>& outcomes) const {
  for (const Tally* tally :
       {&order_,      &opened_,      &receiver_opened_, &device_,      &minutes_,  &distance_,
        &count_,      &accumulated_, &unusual_,         &beneficiary_, &balance_,  &night_,
        &card_,       &thing_,       &closed_,          &removed_,     &followed_, &changes_,
        &settlement_, &alert_,       &dispute_,         &ring_}) {
    outcomes.push_back(tally->outcome());
  }
}

}  // namespace reveza::datagen::check
