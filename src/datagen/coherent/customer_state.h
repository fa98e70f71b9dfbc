// What changes about a customer from row to row: money, devices, habits, whom they have paid. Made
// in the order of time. Not safe from several threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "datagen/coherent/prefetch.h"
#include "datagen/coherent/row.h"
#include "datagen/coherent/world.h"

namespace reveza::datagen::coherent {

// How many of each kind a customer may have.
inline constexpr uint32_t kMostContacts = 40;
inline constexpr uint32_t kFavourites = 3;  // shops of each category

struct KnownDevice {
  DeviceNumber device = kNoDevice;
  int64_t since = 0;
  bool registered = false;  // with the customer's number, so trusted at once
};

// A month's plan.
struct Month {
  uint64_t key = 0;
  uint32_t rows = 0;             // honest ones
  uint32_t standing_orders = 0;  // the first of them
  int64_t journey_begin = kNever;
  int64_t journey_end = kNever;
  uint32_t journey_city = 0;
  int64_t new_phone_at = kNever;
  int64_t spree_day = kNever;
  int64_t income_thousandths = 1'000;  // of what it was at first

  // The first and the last hours of a journey are in the air.
  static constexpr int64_t kFlight = 4 * kHour;
  bool OnJourney(int64_t time) const { return time >= journey_begin && time < journey_end; }
};

class CustomerState {
 public:
  // `local` is the customer's place in the block, of `customers`; `rows_a_month` the expected rows
  // in sixteenths.
  CustomerState(const World& world, uint64_t number, uint64_t block, uint64_t rows_a_month);

  // What has happened until `time` without a row: salary, savings and the card's bill; what is
  // older than 24 hours is forgotten; a new phone is taken into use.
  void Begin(int64_t time);
  // Something of the person's that is other from a time on.
  struct News {
    int64_t time;
    LifeChange kind;  // kAddress, kIncome or kCreditLimit
    int64_t value;    // cents, or how often the customer has moved
  };
  void Plan(const News& news) { news_.push_back(news); }
  void SortNews() { std::ranges::sort(news_, {}, &News::time); }
  // What it will be after all that is planned: the income of a month, or the credit card's limit.
  int64_t Planned(LifeChange kind) const;
  // Money that will come to the account, or to the credit card.
  void Expect(int64_t time, int64_t amount, bool card);
  // This account was paid before, or known of old.
  bool HasPaid(const Row& row) const;
  void RememberPaid(const Row& row);
  // None if it was not used yet.
  const KnownDevice* Find(DeviceNumber device) const {
    if (device == main_device.device) return &main_device;
    return device == second_device.device ? &second_device : FindAmongAll(device);
  }
  // Brings what the next row needs nearer to the processor.
  void Prefetch() const {
    PrefetchLine(recent_.data() + recent_head_);
    PrefetchLine(recent_.data() + recent_.size());
    PrefetchLine(devices.data());
    PrefetchLine(contacts.data());
    PrefetchLine(others_.data());
  }
  // What becomes part of the history when a row is done.
  void Remember(const Row& row);

  Person person;
  Month month;

  int64_t opening_balance = 0;
  int64_t balance = 0;
  int64_t credit_used = 0;
  int64_t scale = kOne;        // of payments to people, so that the income lasts
  int64_t goods_scale = kOne;  // of purchases

  std::vector<KnownDevice> devices;
  KnownDevice main_device;
  KnownDevice second_device;  // the main one where there is no other
  uint32_t next_slot = 0;

  int64_t last_time = kNever;
  Place last_place;
  bool has_last_place = false;
  uint64_t session = 0;
  int64_t session_time = kNever;
  DeviceNumber session_device = kNoDevice;
  std::array<uint32_t, 24> hours{};
  uint32_t rows = 0;
  int64_t usual_amount = 0;  // its logarithm, a moving mean

  int64_t night = kNever;  // the last one with a PIX, and how much
  int64_t night_amount = 0;
  int64_t untrusted_day = kNever;
  int64_t untrusted_amount = 0;

  uint32_t recent_rows = 0;  // of 24 hours
  int64_t recent_amount = 0;

  std::vector<AccountNumber> contacts;
  uint64_t known_contacts = 0;  // bits

 private:
  const KnownDevice* FindAmongAll(DeviceNumber device) const;
  void CatchUp(int64_t time);
  void TakeNews(int64_t time);
  void TakeCredits(int64_t time);
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
  // The time of the one at the head.
  static constexpr int64_t kNothing = INT64_MAX;
  int64_t oldest_ = kNothing;
  bool old_ = false;                   // the account was there before the data begin
  std::vector<AccountNumber> others_;  // that were paid, beside contacts
  std::vector<News> news_;             // to come, in order: few
  const World* world_;
  struct Credit {
    int64_t time;
    int64_t amount;
    bool card;
  };
  std::vector<Credit> credits_;     // that are expected: few
  int64_t next_credit_ = kNothing;  // when the first of them comes
  int64_t next_income_ = 0;
  int64_t income_part_ = 0;
};

}  // namespace reveza::datagen::coherent
