// The mutable state of a customer: balances, devices, habits and known receivers. Updated in time
// order. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "fraudgen/model/coherent/draws.h"
#include "fraudgen/model/coherent/row.h"
#include "fraudgen/model/coherent/world.h"

namespace reveza::fraudgen::coherent {

// Prefetches a cache line. The empty asm statement has a side effect; without it GCC considers
// functions that only prefetch to be pure and removes the call.
inline void PrefetchLine(const void* address) {
  __builtin_prefetch(address);
  asm volatile("" : : "r"(address));
}

// Limits per customer.
inline constexpr uint32_t kMaxContacts = 40;
inline constexpr uint32_t kFavourites = 3;  // shops of each category

struct KnownDevice {
  DeviceNumber device = kNoDevice;
  int64_t since = 0;
  bool registered = false;  // with the customer's phone number, so trusted immediately
  bool logged_in = false;   // in `sessions`; kept in CustomerState::devices only
};

// The total of the payments of one day (or night).
struct DayTotal {
  int64_t day = kNever;
  int64_t amount = 0;

  int64_t Of(int64_t wanted) const { return wanted == day ? amount : 0; }
  void Add(int64_t today, int64_t more) { *this = {.day = today, .amount = Of(today) + more}; }
};

// What adds to a balance or takes from it without being a payment of the owner.
struct Movement {
  int64_t time = 0;
  int64_t amount = 0;      // negative if the balance falls
  uint64_t reference = 0;  // the payer's account, or the number of the owner's payment
  EntryKind kind = EntryKind::kSalary;
};

// A customer's plan for a month.
struct Month {
  uint64_t key = 0;
  uint32_t rows = 0;             // honest payments
  uint32_t standing_orders = 0;  // the first of them
  int64_t journey_begin = kNever;
  int64_t journey_end = kNever;
  uint32_t journey_city = 0;
  int64_t new_phone_at = kNever;
  int64_t spree_day = kNever;
  int64_t income_thousandths = 1'000;  // relative to the initial income
  // Relatives: one sends money with the last row, and the other passes it on at once.
  bool passes_on = false;
  AccountNumber sends_to = kNoAccount;

  // The first and the last hours of a journey are spent in flight.
  static constexpr int64_t kFlight = 4 * kHour;
  bool OnJourney(int64_t time) const { return time >= journey_begin && time < journey_end; }
};

class CustomerState {
 public:
  // `rows_a_month` is the expected number of rows, in sixteenths.
  CustomerState(const World& world, uint64_t number, uint64_t block, uint64_t rows_a_month);

  // Advances to `time`: applies salary, savings, the card bill and scheduled changes, expires rows
  // older than 24 hours, and switches to a new phone. Adds to `movements`, unless null, what that
  // does to the balance; bills and savings, whose time is not known, have that of the income.
  void Begin(int64_t time, std::vector<Movement>* movements = nullptr);
  // A change of the person's data that takes effect at `time`.
  struct ScheduledChange {
    int64_t time;
    LifeChange kind;  // kAddress, kIncome or kCreditLimit
    int64_t value;    // cents, or the number of moves
  };
  void Schedule(const ScheduledChange& news) { scheduled_.push_back(news); }
  void SortScheduled() { std::ranges::sort(scheduled_, {}, &ScheduledChange::time); }
  // Returns the monthly income or credit limit after all scheduled changes.
  int64_t FinalValue(LifeChange kind) const;
  // Schedules a credit to the account, or to the credit card.
  void ExpectCredit(const Movement& credit, bool card);
  // Returns whether the customer had paid the shop before the data begin, as most that are near.
  bool KnewShop(AccountNumber shop) const;
  // Returns whether the row's receiver was paid before, or known before the data begin.
  bool HasPaid(const Row& row) const;
  void RememberPaid(const Row& row);
  // Returns the device, or null if it was not used yet.
  const KnownDevice* Find(DeviceNumber device) const {
    if (device == main_device.device) return &main_device;
    return device == second_device.device ? &second_device : FindAmongAll(device);
  }
  // Prefetches what the next row needs.
  void Prefetch() const {
    PrefetchLine(recent_.data() + recent_head_);
    PrefetchLine(recent_.data() + recent_.size());
    PrefetchLine(devices.data());
    PrefetchLine(contacts.data());
    PrefetchLine(others_.data());
  }
  // Adds a finished row to the history.
  void Remember(const Row& row);

  Person person;
  Month month;

  int64_t opening_balance = 0;
  int64_t balance = 0;
  int64_t credit_used = 0;
  int64_t scale = kOne;        // of payments to people, so that spending matches the income
  int64_t goods_scale = kOne;  // of purchases

  std::vector<KnownDevice> devices;
  KnownDevice main_device;
  KnownDevice second_device;  // same as the main one if there is only one
  uint32_t next_slot = 0;
  bool has_last_place = false;

  int64_t last_time = kNever;
  Place last_place;
  uint64_t session = 0;
  int64_t session_time = kNever;
  DeviceNumber session_device = kNoDevice;
  std::array<uint32_t, 24> hours{};
  uint32_t rows = 0;
  uint32_t recent_rows = 0;  // in the last 24 hours
  int64_t usual_amount = 0;  // moving mean of the logarithm of amounts

  DayTotal night;  // the PIX of the last night
  DayTotal untrusted;

  int64_t recent_amount = 0;

  // The last honest payment from another customer, until it is returned.
  struct Debt {
    int64_t time = kNever;
    AccountNumber to = kNoAccount;
    int64_t amount = 0;
  };
  Debt debt;

  // The receiver of the last payment, if it was an honest PIX that somebody may pay again.
  struct Paid {
    int64_t time = kNever;
    AccountNumber to = kNoAccount;
    MerchantNumber merchant = 0;
    int8_t contact = -1;
    bool shop = false;
  };
  Paid last_paid;

  std::vector<AccountNumber> contacts;
  uint64_t known_contacts = 0;  // bit mask

  // The state of the account's statement; see Statements.
  static constexpr uint32_t kNothingDue = ~uint32_t{0};
  struct Statement {
    int64_t ahead = 0;           // how much more is posted than booked in the balance
    int64_t last = kNever;       // time of the last entry
    uint32_t due = kNothingDue;  // the first entry that waits
  };
  Statement statement;

 private:
  static uint32_t HashOf(AccountNumber account) { return static_cast<uint32_t>(Mix(account)); }
  const KnownDevice* FindAmongAll(DeviceNumber device) const;
  void CatchUp(int64_t time, std::vector<Movement>* movements);
  void ApplyScheduled(int64_t time);
  void ApplyCredits(int64_t time, std::vector<Movement>* movements);
  void Expire(int64_t time);
  void DropOldRows();
  struct Recent {
    int64_t time;
    int64_t amount;
  };
  void MakeContacts(const World& world, uint64_t block);
  void MakeDevices(const World& world);
  void NextIncome();

  std::vector<Recent> recent_;
  std::size_t recent_head_ = 0;
  // The time of the entry at the head.
  static constexpr int64_t kNothing = INT64_MAX;
  int64_t oldest_ = kNothing;
  bool old_ = false;                        // the account was opened before the data begin
  std::vector<uint32_t> others_;            // hashes of receivers paid, other than contacts
  std::vector<ScheduledChange> scheduled_;  // to come, in order: few
  const World* world_;
  // Packed, because customers have many in memory.
  struct Credit {
    int64_t time;
    int64_t amount;
    uint64_t reference : 48;
    EntryKind kind;
    bool card;
  };
  static_assert(sizeof(Credit) == 24);
  std::vector<Credit> credits_;     // that are expected: few
  int64_t next_credit_ = kNothing;  // when the first of them comes
  int64_t next_income_ = 0;
  int64_t income_part_ = 0;
};

// Amounts of payments between people, scaled so that spending matches the income. Pure functions.

// Returns the factor of a customer's payments to people, in units of kOne; `rows_a_month` is in
// sixteenths.
int64_t SpendingScale(const World& world, const Person& person, uint64_t rows_a_month);
// Returns the median payment to a person before scaling, in cents.
int64_t PersonsMedian(const ProfileHabits& habits);
// Draws a payment to a person around `median`, mostly a round sum.
int64_t PersonsAmount(int64_t median, Draws& draws);

}  // namespace reveza::fraudgen::coherent
