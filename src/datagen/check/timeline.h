// What the rows of the coherent model say about each other, block by block: a customer's payments
// in order, and the alerts, disputes and rings that are about them. Written from the documentation
// of the columns, not from the program that makes them. In memory is one block's people, not its
// payments.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "datagen/check/table_check.h"

namespace reveza::datagen::check {

// Its tables come in this order: customers, accounts, devices, settlements, alerts, disputes,
// changes and rings before transactions.
class TimelineCheck final : public TableCheck {
 public:
  void Look(const Batch& batch, const Position& position) override;
  void EndBlock() override;
  void Report(std::vector<Outcome>& outcomes) const override;

 private:
  struct Account {
    int64_t opened_at = 0;
    int64_t night_limit = 0;
    bool has_row = false;
    bool has_place = false;
    int64_t last_time = 0;
    int64_t latitude = 0;  // of the last row with a position
    int64_t longitude = 0;
    int64_t balance = 0;   // after the last row
    int64_t credited = 0;  // since then, by others of the block
    int64_t night = 0;     // the last one with a PIX, and how much
    int64_t night_amount = 0;
    int64_t recent_amount = 0;
    uint32_t rows = 0;
    std::array<uint32_t, 24> hours{};
    struct Recent {
      int64_t time;
      int64_t amount;
    };
    std::deque<Recent> recent;
    std::vector<Recent> coming;  // money that is given back or settles later
  };
  // What another table says of a payment.
  struct Mention {
    uint64_t customer = 0;
    int64_t time = 0;
    int64_t number = 0;  // score or amount
    bool found = false;
  };
  // What comes back of a payment, and what `settlements` says of it.
  struct Aftermath {
    uint64_t customer = 0;
    int64_t time = 0;
    int64_t amount = 0;
    int64_t returned = 0;
    bool settled = false;  // of `settlements`
    bool reversed = false;
    bool found = false;
  };
  using Aftermaths = std::unordered_map<uint64_t, Aftermath>;
  using Mentions = std::unordered_map<uint64_t, Mention>;
  struct Payments;

  static uint64_t PairOf(uint64_t one, uint64_t other);
  static uint64_t HexadecimalOf(std::string_view text);

  void AddCustomers(const Batch& batch);
  void AddAccounts(const Batch& batch);
  void AddDevices(const Batch& batch, const Position& position);
  void AddMentions(const Batch& batch, std::string_view time, std::string_view number,
                   Mentions& mentions) const;
  void AddSettlements(const Batch& batch);
  void AddRefunds(const Batch& batch);
  void LookAtAftermath(const Payments& rows, const Position& position, std::size_t row, uint64_t id,
                       Account& account);
  void LookAtChanges(const Batch& batch, const Position& position);
  void LookAtChange(const Position& position, std::size_t row, uint64_t customer,
                    std::string_view kind, std::string_view before, std::string_view after);
  void LookAtEnds(const Payments& rows, const Position& position, std::size_t row);
  void LookAtPayments(const Batch& batch, const Position& position);
  void LookAtHistory(const Payments& rows, const Position& position, std::size_t row,
                     Account& account);
  void LookAtMoney(const Payments& rows, const Position& position, std::size_t row,
                   Account& account);
  void LookAtReceiver(const Payments& rows, const Position& position, std::size_t row,
                      uint64_t customer);
  void LookAtMention(const Position& position, std::size_t row, const Mention& payment, uint64_t id,
                     Mentions& mentions, Tally& tally);

  std::unordered_map<uint64_t, Account> accounts_;    // by the customer's number
  std::unordered_map<uint64_t, uint64_t> owners_;     // of accounts: their customers
  std::unordered_map<uint64_t, int64_t> first_uses_;  // of a device with a customer
  std::unordered_map<uint64_t, int64_t> removals_;    // likewise
  std::unordered_map<uint64_t, int64_t> closings_;    // by the customer's number
  std::unordered_map<uint64_t, uint64_t> values_;     // of a customer and a kind of change
  std::unordered_map<uint64_t, uint64_t> things_;     // what a device is
  std::unordered_map<uint64_t, uint64_t> cards_;      // a card's customer
  std::unordered_set<uint64_t> paid_;                 // customer and receiver
  Mentions alerts_;
  Mentions disputes_;
  Mentions rings_;
  Aftermaths settlements_;
  Aftermaths refunds_;
  int64_t last_time_ = INT64_MIN;
  int64_t last_change_ = INT64_MIN;

  Tally order_{"timeline: rows of a block are in order of time"};
  Tally opened_{"timeline: nothing before the account was opened"};
  Tally receiver_opened_{"timeline: nobody pays an account that is not open yet"};
  Tally device_{"timeline: no device is used before its first use"};
  Tally minutes_{"timeline: time_since_last_txn_min is true"};
  Tally distance_{"timeline: distance_from_last_txn_km is true"};
  Tally count_{"timeline: transactions_last_24h is true"};
  Tally accumulated_{"timeline: accumulated_amount_24h is true"};
  Tally unusual_{"timeline: unusual_time is true"};
  Tally beneficiary_{"timeline: new_beneficiary was never paid before"};
  Tally balance_{"timeline: balance_after follows from the row before"};
  Tally night_{"timeline: PIX of a night stay within the limit"};
  Tally card_{"timeline: a card belongs to one customer"};
  Tally thing_{"devices: a device is the same for all who use it"};
  Tally closed_{"timeline: nothing after the account was closed"};
  Tally removed_{"timeline: no device is used after it was removed"};
  Tally followed_{"changes: what was there before is what the change before left"};
  Tally changes_{"changes: are in order, and new devices are in devices"};
  Tally settlement_{
      "settlements: are of a payment of their block, one of each that is pending, and fit it"};
  Tally alert_{"alerts: are of a payment of their block and say what it says"};
  Tally dispute_{"disputes: are of a payment of their block and say what it says"};
  Tally ring_{"rings: are of a payment of their block and say what it says"};
};

}  // namespace reveza::datagen::check
