// The static entities of a data set (people, shops, accounts, devices), as functions of their
// numbers. Immutable and thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fraudgen/model/coherent/draws.h"
#include "fraudgen/model/coherent/fixed_point.h"
#include "fraudgen/model/coherent/parameters.h"
#include "fraudgen/values/civil_time.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen::coherent {

inline constexpr int64_t kMinute = 60 * kMicrosecondsPerSecond;
inline constexpr int64_t kHour = 60 * kMinute;
inline constexpr int64_t kDay = kMicrosecondsPerDay;

inline constexpr int64_t kNever = INT64_MIN;
inline constexpr int64_t kForever = INT64_MAX;

// A customer at the beginning of the data, or at the opening of the account if that is later.
struct Person {
  uint64_t number = 0;
  uint64_t key = 0;       // seeds everything else about the person
  uint64_t home_key = 0;  // shared by a household
  uint64_t quarter_key = 0;
  Profile profile = Profile::kYoungDigital;
  uint8_t state = 0;
  uint8_t bank = 0;
  uint8_t account_type = 0;
  uint8_t payday = 0;  // index into CalendarParameters::paydays
  uint16_t city = 0;   // index into lists::kCities
  Place home;
  Place work;
  int64_t income = 0;  // cents a month
  int64_t credit_limit = 0;
  int64_t opened_at = 0;
  int64_t closes_at = kForever;
  int64_t birth_day = 0;
  uint32_t monthly_rows = 0;  // activity, in sixteenths of a row
};

// Changes of a customer's data, each at most once a year.
enum class LifeChange : uint8_t { kAddress, kPhone, kEmail, kIncome, kCreditLimit, kPixKey, kSim };
inline constexpr std::size_t kLifeChanges = 7;

// A shop: city, category (index into lists::kMerchantCategories) and position, in one number.
using MerchantNumber = uint32_t;
inline constexpr uint32_t kMerchantsPerCity = 1024;  // of each category
constexpr MerchantNumber MerchantOf(uint32_t city, uint32_t category, uint32_t position) {
  return (city * 32 + category) * kMerchantsPerCity + position;
}
constexpr uint32_t CategoryOf(MerchantNumber merchant) { return merchant / kMerchantsPerCity % 32; }
constexpr uint32_t CityOf(MerchantNumber merchant) { return merchant / kMerchantsPerCity / 32; }

// An account: customers' accounts first, then disjoint ranges for other kinds.
using AccountNumber = uint64_t;
inline constexpr AccountNumber kNoAccount = ~uint64_t{0};

// A device: customers' devices first, then those of fraudsters and rings.
using DeviceNumber = uint64_t;
inline constexpr DeviceNumber kNoDevice = ~uint64_t{0};
inline constexpr uint32_t kDevicesPerCustomer = 64;
// The slot of a terminal that a customer shares with neighbours; the others are the customer's own.
inline constexpr uint32_t kTerminalSlot = kDevicesPerCustomer - 1;

class World {
 public:
  // `parameters` must pass Validate().
  explicit World(const Parameters& parameters);

  const Parameters& parameters() const { return parameters_; }
  const Keys& keys() const { return keys_; }
  int64_t begin() const { return parameters_.first_day * kDay; }
  int64_t end() const { return (parameters_.last_day + 1) * kDay; }
  // Rows from here on are not written. Earlier than end() only for growing data, whose world must
  // not depend on the requested last day.
  int64_t written_end() const { return written_end_; }
  // Returns the elapsed part of the period at `time`, in thousandths.
  int64_t Progress(int64_t time) const { return (time - begin()) * 1'000 / (end() - begin()); }

  // Blocks are balanced: their rows, frauds and customers differ by at most one.
  uint64_t customers() const { return customers_; }
  uint64_t blocks() const { return blocks_; }
  uint64_t FirstRow(uint64_t block) const { return Part(parameters_.rows, block); }
  uint64_t Rows(uint64_t block) const { return FirstRow(block + 1) - FirstRow(block); }
  uint64_t Frauds(uint64_t block) const { return Part(frauds_, block + 1) - Part(frauds_, block); }
  uint64_t FirstCustomer(uint64_t block) const { return Part(customers_, block); }
  uint64_t Customers(uint64_t block) const {
    return FirstCustomer(block + 1) - FirstCustomer(block);
  }
  uint64_t total_frauds() const { return frauds_; }
  uint64_t FirstRide(uint64_t block) const { return Part(parameters_.rides, block); }
  uint64_t Rides(uint64_t block) const { return FirstRide(block + 1) - FirstRide(block); }
  uint64_t RideFrauds(uint64_t block) const {
    return Part(ride_frauds_, block + 1) - Part(ride_frauds_, block);
  }

  Person PersonOf(uint64_t number) const;
  // Returns only number, keys, profile, state, city and bank, in a third of the time.
  Person BriefPersonOf(uint64_t number) const;
  // Returns the expected rows of a customer per month, in sixteenths.
  uint64_t RowsAMonth(const Person& person) const;
  // Households share a surname, an address and a device, owned by the head and used by up to three
  // others. Other customers are the head of a household of one.
  uint64_t HeadOfHousehold(uint64_t number) const;
  // Returns whether others share the home; such customers do not move.
  bool SharesHome(uint64_t number) const;

  // Customers with neighbouring numbers live near each other: households in a quarter, quarters in
  // a town. Most of a town's customers, and of their friends at other banks, live in its city.
  static constexpr uint64_t kQuarter = 16;
  static constexpr uint64_t kTown = 64;
  uint32_t CityOfTown(uint64_t town) const;
  uint64_t towns() const { return (customers_ + kTown - 1) / kTown; }
  // Returns the team that a customer works in: of eight, none of them relatives.
  uint64_t TeamOf(uint64_t number) const;

  // Returns the customer whose terminal, such as a shop's or a library's, this one uses too: half
  // of the groups of neighbours have one, with up to a dozen users or more.
  std::optional<uint64_t> TerminalHostOf(uint64_t number) const;

  // Returns the time of a change in a year, counted from begin(), or kNever. The caller checks that
  // the account is open.
  int64_t ChangeIn(uint64_t number, LifeChange kind, uint32_t year) const;
  // Returns the number of changes in (from, time], both within the data.
  uint32_t CountChanges(uint64_t number, LifeChange kind, int64_t from, int64_t time) const;
  uint32_t YearOf(int64_t time) const {
    return static_cast<uint32_t>(std::max<int64_t>(0, time - begin()) / (365 * kDay));
  }
  // Returns a customer's home after `moves` moves since the account was opened.
  Place HomeAfter(const Person& person, uint32_t moves) const;
  Place HomeAt(const Person& person, int64_t time) const {
    return HomeAfter(person,
                     CountChanges(person.number, LifeChange::kAddress, person.opened_at, time));
  }

  Place PlaceOfCity(uint32_t city) const { return cities_[city]; }
  // Draws an hour at which customers of this profile are active.
  int64_t UsualHour(Profile profile, Draws& draws) const {
    return hour_choice_[static_cast<std::size_t>(profile)].Of(draws.Bits());
  }
  Place PlaceOfMerchant(MerchantNumber merchant) const;
  // Draws a city of the country by population.
  uint32_t AnyCity(uint64_t bits) const { return city_choice_.Of(bits); }

  // Accounts of non-customers: people of a town, below kOutsiders of each; popular receivers of a
  // city, or of the country (kCountry), by rank; and others.
  static constexpr uint64_t kOutsiders = 320;
  static constexpr uint32_t kCountry = 1'023;
  AccountNumber OutsiderAccount(uint64_t town, uint64_t index) const {
    return customers_ + town * kOutsiders + index;
  }
  AccountNumber PopularAccount(uint32_t city, uint64_t rank) const {
    return customers_ + kPopular + city * kRanks + rank;
  }
  // Returns the city of the holder of such an account, or nothing if it may be any.
  std::optional<uint32_t> CityOfOutsider(AccountNumber account) const;
  AccountNumber StrangerAccount(uint64_t row) const { return customers_ + kStrangers + row; }
  AccountNumber FraudsterAccount(uint64_t block, uint64_t index) const {
    return customers_ + kFraudsters + block * kFraudstersPerBlock + index;
  }
  AccountNumber MerchantAccount(MerchantNumber merchant) const {
    return customers_ + kMerchantAccounts + merchant;
  }
  static constexpr uint64_t kFraudstersPerBlock = uint64_t{1} << 22;
  static constexpr uint64_t kHousehold = 4;  // maximum size

  DeviceNumber CustomersDevice(uint64_t customer, uint32_t slot) const {
    return customer * kDevicesPerCustomer + slot;
  }
  DeviceNumber FraudsterDevice(uint64_t block, uint64_t index) const {
    return kFraudsterDevices + block * kFraudstersPerBlock + index;
  }
  // OwnerOf() returns the customer who owns the device; not for fraudsters' devices.
  static constexpr bool IsFraudsterDevice(DeviceNumber device) {
    return device >= kFraudsterDevices;
  }
  static constexpr uint64_t OwnerOf(DeviceNumber device) { return device / kDevicesPerCustomer; }

 private:
  static constexpr uint64_t kPopular = uint64_t{1} << 35;
  static constexpr uint64_t kRanks = uint64_t{1} << 20;
  static constexpr uint64_t kStrangers = uint64_t{1} << 37;
  static constexpr uint64_t kMerchantAccounts = uint64_t{1} << 49;
  static constexpr uint64_t kFraudsters = kMerchantAccounts + (uint64_t{1} << 32);
  static constexpr uint64_t kFraudsterDevices = uint64_t{1} << 49;

  Person OriginOf(uint64_t number, Draws& draws) const;
  void Settle(Person& person, Draws& draws) const;
  uint64_t HouseholdOf(uint64_t head) const;
  uint64_t Part(uint64_t whole, uint64_t block) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(whole) * block / blocks_);
  }

  Parameters parameters_;
  int64_t written_end_;
  Keys keys_;
  uint64_t customers_ = 0;
  uint64_t blocks_ = 0;
  uint64_t frauds_ = 0;
  uint64_t ride_frauds_ = 0;
  std::vector<Place> cities_;
  WeightedChoice city_choice_;
  WeightedChoice profile_choice_;
  WeightedChoice state_choice_;
  WeightedChoice income_choice_;
  WeightedChoice bank_choice_;
  std::vector<WeightedChoice> city_of_state_;
  std::vector<WeightedChoice> hour_choice_;              // by profile
  std::array<uint32_t, kLifeChanges> changes_a_year_{};  // millionths
};

}  // namespace reveza::fraudgen::coherent
