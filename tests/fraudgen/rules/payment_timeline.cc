#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <string>
#include <unordered_set>

#include "fraudgen/values/civil_time.h"
#include "tests/fraudgen/rules/timeline.h"

namespace reveza::fraudgen::rules {
namespace {

constexpr int64_t kDay = kMicrosecondsPerDay;

// Returns kilometres between positions in millionths of a degree, by the equirectangular
// approximation that the column documentation specifies.
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

bool IsNight(int64_t time) {
  return time % kDay >= 20 * kMicrosecondsPerHour || time % kDay < 6 * kMicrosecondsPerHour;
}

struct PaymentColumns {
  const Batch& batch;
  Field id{batch, "transaction_id"};
  Field customer{batch, "customer_id"};
  Field device{batch, "device_id"};
  Field time{batch, "timestamp"};
  Field type{batch, "type"};
  Field amount{batch, "amount"};
  Field latitude{batch, "geolocation_lat"};
  Field longitude{batch, "geolocation_lon"};
  Field card{batch, "card_number_hash"};
  Field receiver{batch, "counterparty_account"};
  Field distance{batch, "distance_from_last_txn_km"};
  Field minutes{batch, "time_since_last_txn_min"};
  Field count{batch, "transactions_last_24h"};
  Field accumulated{batch, "accumulated_amount_24h"};
  Field unusual{batch, "unusual_time"};
  Field beneficiary{batch, "new_beneficiary"};
  Field status{batch, "status"};
  Field score{batch, "risk_score"};
  Field balance{batch, "balance_after"};
  Field is_fraud{batch, "is_fraud"};
  Field reported{batch, "fraud_reported_at"};

  // Returns true if all columns that the checks need are present.
  bool Complete(std::size_t row) const {
    return AllHave(row, id, customer, time, type, amount, count, accumulated, unusual, beneficiary,
                   status, score, balance, is_fraud);
  }
};

// A row of transactions.
struct Payment {
  const PaymentColumns& columns;
  const Position& position;
  std::size_t row;
  uint64_t id = NumberOf(columns.id.Text(row));
  uint64_t customer = NumberOf(columns.customer.Text(row));
  int64_t time = columns.time.Number(row);
  int64_t amount = columns.amount.Number(row);
  bool approved = columns.status.Is(row, "APPROVED");
  bool pending = columns.status.Is(row, "PENDING");
  bool by_credit_card = columns.type.Is(row, "CREDIT_CARD");
  bool is_fraud = columns.is_fraud.Flag(row);

  bool Has(const Field& column) const { return column.Has(row); }
  bool paid() const { return approved || pending; }
  uint64_t receiver() const { return NumberOf(columns.receiver.Text(row)); }
  uint64_t device() const { return PairOf(NumberOf(columns.device.Text(row)), customer); }

  void Check(Tally& tally, bool valid) const {
    tally.Check(valid, position, row, [&] { return std::string(columns.id.Text(row)); });
  }
  template <typename Value>
  void Check(Tally& tally, bool valid, const Value& expected) const {
    tally.Check(valid, position, row,
                [&] { return fmt::format("{}, should be {}", columns.id.Text(row), expected); });
  }
};

// Follows the column documentation and shares no code with the model.
class PaymentTimeline final : public TableCheck {
 public:
  PaymentTimeline(TimelineState& state, PaymentReferences& references)
      : state_(state), references_(references) {}

  void Add(const Batch& batch, const Position& position) override {
    if (batch.table().name != "transactions") return;
    const PaymentColumns columns{batch};
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      if (!columns.Complete(row)) continue;
      const Payment payment{columns, position, row};
      payment.Check(order_, payment.time >= last_time_);
      last_time_ = payment.time;
      CheckEnds(payment);
      CheckReferences(payment);
      const auto account = state_.accounts.find(payment.customer);
      if (account == state_.accounts.end()) continue;  // KeyCheck reports it
      CheckMeans(payment, account->second);
      CheckHistory(payment, account->second);
      CheckMoney(payment, account->second);
      CheckReceiver(payment);
      references_.settlements.Match(payment);
    }
  }

  void EndBlock() override {
    for (auto& [customer, account] : state_.accounts) {
      while (!account.entries.empty()) PostEntry(account, entries_);
    }
    cards_.clear();
    paid_.clear();
    last_time_ = INT64_MIN;
  }

  void Report(Tallies& tallies) const override {
    for (const Tally* tally : {&order_, &opened_, &receiver_opened_, &device_, &minutes_,
                               &distance_, &count_, &accumulated_, &unusual_, &beneficiary_,
                               &balance_, &entries_, &night_, &card_, &closed_, &removed_}) {
      tallies.push_back(*tally);
    }
  }

 private:
  // No payments from or to closed accounts, nor with removed devices.
  void CheckEnds(const Payment& payment) {
    const auto is_closed = [&](uint64_t customer) {
      const auto closing = state_.closings.find(customer);
      return closing != state_.closings.end() && payment.time >= closing->second;
    };
    bool closed = is_closed(payment.customer);
    if (payment.Has(payment.columns.receiver)) {
      const auto owner = state_.owners.find(payment.receiver());
      closed = closed || (owner != state_.owners.end() && is_closed(owner->second));
    }
    payment.Check(closed_, !closed);
    if (!payment.Has(payment.columns.device)) return;
    const auto removal = state_.removals.find(payment.device());
    payment.Check(removed_, removal == state_.removals.end() || payment.time < removal->second);
  }

  // Compares the payment with the alerts, disputes and rings that refer to it.
  void CheckReferences(const Payment& payment) {
    const auto& columns = payment.columns;
    const auto match = [&](ReferenceCheck& check, int64_t time, int64_t number) {
      check.Match(payment.position, payment.row, payment.id, payment.customer, time, number);
    };
    match(references_.alerts, payment.time, columns.score.Number(payment.row));
    match(references_.rings, payment.time, 0);
    match(references_.disputes,
          payment.Has(columns.reported) ? columns.reported.Number(payment.row) : INT64_MIN,
          payment.amount);
  }

  // The account is open, the device in use, the card the customer's.
  void CheckMeans(const Payment& payment, const TimelineState::Account& account) {
    payment.Check(opened_, payment.time >= account.opened_at);
    if (payment.Has(payment.columns.device)) {
      const auto use = state_.first_uses.find(payment.device());
      if (use != state_.first_uses.end()) payment.Check(device_, payment.time >= use->second);
    }
    if (payment.Has(payment.columns.card)) {
      const uint64_t card = HexadecimalOf(payment.columns.card.Text(payment.row));
      const auto owner = cards_.emplace(card, payment.customer).first;
      payment.Check(card_, owner->second == payment.customer);
    }
  }

  // Recomputes the columns derived from the customer's earlier rows.
  void CheckHistory(const Payment& payment, TimelineState::Account& account) {
    const auto& columns = payment.columns;
    const std::size_t row = payment.row;
    const int64_t time = payment.time;
    while (!account.recent.empty() && account.recent.front().time <= time - kDay) {
      account.recent_amount -= account.recent.front().amount;
      account.recent.pop_front();
    }
    const auto recent = static_cast<int64_t>(account.recent.size());
    payment.Check(count_, columns.count.Number(row) == recent, recent);
    payment.Check(accumulated_, columns.accumulated.Number(row) == account.recent_amount,
                  static_cast<double>(account.recent_amount) / 100);
    const int64_t minutes =
        account.has_row ? (time - account.last_time) / kMicrosecondsPerMinute : 0;
    payment.Check(minutes_,
                  payment.Has(columns.minutes) == account.has_row &&
                      (!account.has_row || columns.minutes.Number(row) == minutes),
                  account.has_row ? fmt::format("{}", minutes) : "null");
    CheckDistance(payment, account);

    constexpr uint32_t kRowsUntilUsual = 30;
    constexpr uint32_t kRare = 50;
    // Of a damaged row, the time may be before 1970.
    const int64_t hour = (time % kDay + kDay) % kDay / kMicrosecondsPerHour;
    auto& in_this_hour = account.hours[static_cast<std::size_t>(hour)];
    const bool unusual = account.rows >= kRowsUntilUsual && in_this_hour * kRare < account.rows;
    payment.Check(unusual_, columns.unusual.Flag(row) == unusual, unusual);
    ++in_this_hour;
    ++account.rows;
    const int64_t amount = payment.approved ? payment.amount : 0;
    account.recent.push_back({time, amount});
    account.recent_amount += amount;
  }

  void CheckDistance(const Payment& payment, TimelineState::Account& account) {
    const auto& columns = payment.columns;
    const bool has_distance = payment.Has(columns.distance);
    if (!AllHave(payment.row, columns.latitude, columns.longitude)) {
      payment.Check(distance_, !has_distance, "null");
      return;
    }
    const int64_t latitude = columns.latitude.Number(payment.row);
    const int64_t longitude = columns.longitude.Number(payment.row);
    const double distance =
        account.has_place ? Distance(latitude, longitude, account.latitude, account.longitude) : 0;
    const double stored =
        has_distance ? static_cast<double>(columns.distance.Number(payment.row)) / 100 : 0;
    // Within the accuracy of the approximation.
    payment.Check(
        distance_,
        has_distance == account.has_place && std::abs(stored - distance) <= 0.05 + 0.01 * distance,
        distance);
    account.has_place = true;
    account.latitude = latitude;
    account.longitude = longitude;
  }

  // Entries and payments in order of time: each has the balance before it, plus what it adds.
  void CheckMoney(const Payment& payment, TimelineState::Account& account) {
    const int64_t time = payment.time;
    const int64_t balance = payment.columns.balance.Number(payment.row);
    while (!account.entries.empty() && account.entries.front().time <= time)
      PostEntry(account, entries_);
    const int64_t spent = payment.paid() && !payment.by_credit_card ? payment.amount : 0;
    const int64_t expected = account.balance - spent;
    payment.Check(balance_, balance == expected, static_cast<double>(expected) / 100);
    account.has_row = true;
    account.last_time = time;
    account.balance = balance;
    if (!payment.paid() || !payment.columns.type.Is(payment.row, "PIX") || !IsNight(time)) return;
    // A night counts as the day on which it began.
    const int64_t night = (time - 6 * kMicrosecondsPerHour) / kDay;
    if (night != account.night) account.night_amount = 0;
    account.night = night;
    account.night_amount += payment.amount;
    payment.Check(night_, account.night_amount <= account.night_limit);
  }

  void CheckReceiver(const Payment& payment) {
    const bool new_beneficiary = payment.columns.beneficiary.Flag(payment.row);
    if (!payment.Has(payment.columns.receiver)) {
      payment.Check(beneficiary_, !new_beneficiary);
      return;
    }
    const uint64_t pair = PairOf(payment.customer, payment.receiver());
    payment.Check(beneficiary_, !new_beneficiary || !paid_.contains(pair));
    if (payment.paid()) paid_.insert(pair);
    const auto owner = state_.owners.find(payment.receiver());
    if (owner == state_.owners.end()) return;
    TimelineState::Account& account = state_.accounts.at(owner->second);
    payment.Check(receiver_opened_, payment.time >= account.opened_at);
  }

  static void PostEntry(TimelineState::Account& account, Tally& tally) {
    const TimelineState::Entry& entry = account.entries.front();
    const int64_t expected = account.balance + entry.amount;
    tally.Check(entry.balance == expected, entry.position, entry.row, [&] {
      return fmt::format("{:.2f}, should be {:.2f}", static_cast<double>(entry.balance) / 100,
                         static_cast<double>(expected) / 100);
    });
    account.balance = entry.balance;
    account.entries.pop_front();
  }

  TimelineState& state_;
  PaymentReferences& references_;
  std::unordered_map<uint64_t, uint64_t> cards_;  // customer, by card
  std::unordered_set<uint64_t> paid_;             // pairs of customer and receiver
  int64_t last_time_ = INT64_MIN;

  Tally order_{"timeline: rows of a block are in order of time"};
  Tally opened_{"timeline: no payments before the account was opened"};
  Tally receiver_opened_{"timeline: no payments to accounts not opened yet"};
  Tally device_{"timeline: devices are not used before first_use"};
  Tally minutes_{"timeline: time_since_last_txn_min is correct"};
  Tally distance_{"timeline: distance_from_last_txn_km is correct"};
  Tally count_{"timeline: transactions_last_24h is correct"};
  Tally accumulated_{"timeline: accumulated_amount_24h is correct"};
  Tally unusual_{"timeline: unusual_time is correct"};
  Tally beneficiary_{"timeline: new_beneficiary was not paid before"};
  Tally balance_{"timeline: balance_after follows from the previous row or entry"};
  Tally entries_{"timeline: balance_after of an entry follows from the previous row or entry"};
  Tally night_{"timeline: PIX at night stay within the limit"};
  Tally card_{"timeline: a card belongs to one customer"};
  Tally closed_{"timeline: no payments after the account was closed"};
  Tally removed_{"timeline: devices are not used after removal"};
};

}  // namespace

std::unique_ptr<TableCheck> CheckPayments(TimelineState& state, PaymentReferences& references) {
  return std::make_unique<PaymentTimeline>(state, references);
}

}  // namespace reveza::fraudgen::rules
