#include "fraudgen/model/coherent/world.h"

#include <algorithm>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/places.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/model/coherent/parameters.h"

namespace reveza::fraudgen::coherent {
namespace {

// Returns the mean rows of a customer per month, from the profiles' weights and mid-ranges.
uint64_t MeanMonthlyRows(const Parameters& parameters) {
  uint64_t rows = 0;
  uint64_t weights = 0;
  for (const ProfileHabits& profile : parameters.profiles) {
    rows += uint64_t{profile.weight} * (profile.rows_a_month.min + profile.rows_a_month.max);
    weights += profile.weight;
  }
  return std::max<uint64_t>(1, rows / 2 / std::max<uint64_t>(1, weights));
}
constexpr uint64_t kMeanMonthlyRides = 9;
constexpr uint64_t kMinCustomers = 1'000;
constexpr uint64_t kMaxCustomers = 50'000'000;

constexpr uint64_t kDrawsOfOrigin = 4;
// What is drawn for a part of a town, by the number of its first customer or its own.
enum TownDraw : uint16_t {
  kCityOfTown,
  kStatesOfTowns,
  kQuarterOfTown,
  kTeamOfTown,
  kShiftOfFamily
};
// Of a town's customers, in percent: those who live in its city, and in its state.
constexpr uint64_t kResidents = 80;
constexpr uint64_t kOfState = 90;
// Those whose income is drawn for the quarter, in percent.
constexpr uint64_t kIncomeOfQuarter = 80;
// Rows per customer that determine the size of a growing block.
constexpr uint64_t kBlockOfGrowing = 2'000;

// Places a state's cities around its capital, since the lists only have the capitals' positions.
std::vector<Place> MakeCities(const Keys& keys) {
  std::vector<Place> places;
  for (std::size_t state = 0; state < lists::kStates.size(); ++state) {
    const Place capital = {lists::kStates[state].latitude, lists::kStates[state].longitude};
    for (std::size_t i = 0; i < lists::kCitiesOfState[state].count; ++i) {
      Draws draws(keys.Of(Purpose::kMerchant, places.size(), 1));
      const int64_t reach = i == 0 ? 0 : 400'000;
      const auto north = static_cast<int32_t>(draws.Between(-reach, reach));
      const auto east = static_cast<int32_t>(draws.Between(-reach, reach));
      places.push_back({capital.latitude + north, capital.longitude + east});
    }
  }
  return places;
}

Place Near(Place place, int64_t reach, Draws& draws) {
  // The sum of two draws is denser in the middle.
  const int64_t north = draws.Between(-reach, reach) + draws.Between(-reach, reach);
  const int64_t east = draws.Between(-reach, reach) + draws.Between(-reach, reach);
  return {place.latitude + static_cast<int32_t>(north / 2),
          place.longitude + static_cast<int32_t>(east / 2)};
}

Parameters Grown(Parameters parameters) {
  if (!parameters.growing) return parameters;
  parameters.last_day = parameters.first_day + kGrowingDays - 1;
  parameters.rows = parameters.customers * MeanMonthlyRows(parameters) * kGrowingDays / 30;
  return parameters;
}

uint64_t CustomersFor(const Parameters& parameters) {
  if (parameters.customers != 0) return parameters.customers;
  const unsigned __int128 rows =
      (static_cast<unsigned __int128>(parameters.rows) + parameters.rides) * 30;
  const uint64_t a_month = (parameters.rows != 0 ? MeanMonthlyRows(parameters) : 0) +
                           (parameters.rides != 0 ? kMeanMonthlyRides : 0);
  const auto fitting =
      static_cast<uint64_t>(rows / (parameters.Days() * std::max<uint64_t>(a_month, 1)));
  return std::clamp(fitting, kMinCustomers, kMaxCustomers);
}

}  // namespace

World::World(const Parameters& parameters)
    : parameters_(Grown(parameters)),
      written_end_((parameters.last_day + 1) * kDay),
      keys_(parameters.seed),
      customers_(CustomersFor(parameters)),
      cities_(MakeCities(keys_)),
      city_choice_(lists::ChoiceOfRows(lists::kCities)),
      profile_choice_(lists::ChoiceOfRows(parameters.profiles)),
      state_choice_(lists::ChoiceOfRows(lists::kStates)),
      income_choice_(lists::kIncomeBracketWeights),
      bank_choice_(lists::ChoiceOfRows(lists::kBanks)) {
  const uint64_t rows = std::max(parameters_.rows, parameters_.rides);
  uint64_t wanted = (rows + parameters.rows_per_block - 1) / parameters.rows_per_block;
  if (parameters.growing) {
    const uint64_t each = std::max<uint64_t>(1, parameters.rows_per_block / kBlockOfGrowing);
    wanted = (customers_ + each - 1) / each;
  }
  blocks_ = std::max<uint64_t>(1, std::min(wanted, customers_));
  frauds_ = parameters.frauds.Of(parameters_.rows);
  if (parameters.frauds_of_pix) {
    const auto of_pix = static_cast<unsigned __int128>(parameters_.rows) *
                        parameters.frauds.billionths * HonestPixMillionths(parameters) /
                        FraudPixMillionths(parameters);
    frauds_ = static_cast<uint64_t>(std::min<unsigned __int128>(
        (of_pix + Share::kWhole / 2) / Share::kWhole, parameters_.rows / 2));
  }
  ride_frauds_ = parameters.frauds.Of(parameters.rides);
  const auto more = [&](uint32_t a_month) {
    const uint64_t a_year = uint64_t{a_month} * 12 * parameters.LookalikeFactor() / 1'000;
    return static_cast<uint32_t>(std::min<uint64_t>(a_year, 1'000'000));
  };
  for (const ProfileHabits& profile : parameters.profiles) {
    hour_choice_.emplace_back(profile.hours);
  }
  const LifeChanges& changes = parameters.changes;
  changes_a_year_ = {changes.address,
                     more(parameters.lookalikes.new_number_a_month),
                     changes.email,
                     changes.income,
                     changes.credit_limit,
                     changes.pix_key,
                     more(parameters.lookalikes.new_sim_a_month)};
  for (std::size_t state = 0; state < lists::kStates.size(); ++state) {
    city_of_state_.push_back(lists::ChoiceOfRows(lists::CitiesOf(state)));
  }
}

uint64_t World::RowsAMonth(const Person& person) const {
  const unsigned __int128 rows = static_cast<unsigned __int128>(parameters_.rows) * 30;
  return static_cast<uint64_t>(person.monthly_rows * rows /
                               (static_cast<unsigned __int128>(parameters_.Days()) *
                                MeanMonthlyRows(parameters_) * customers_));
}

// Of four consecutive customers, the first two to four form a household.
uint64_t World::HeadOfHousehold(uint64_t number) const {
  const uint64_t head = number / kHousehold * kHousehold;
  return head != number && number - head < HouseholdOf(head) ? head : number;
}

// Returns the size of the household of the first of four; 1 if the customer lives alone.
uint64_t World::HouseholdOf(uint64_t head) const {
  Draws draws(keys_.Of(Purpose::kHousehold, head));
  constexpr uint64_t kMeanSize = 3;
  if (!draws.Chance(uint64_t{parameters_.lookalikes.shared_device} * kHousehold / kMeanSize)) {
    return 1;
  }
  return 2 + draws.Below(kHousehold - 1);
}

bool World::SharesHome(uint64_t number) const {
  const uint64_t head = number / kHousehold * kHousehold;
  const uint64_t size = HouseholdOf(head);
  return size > 1 && number - head < size;
}

std::optional<uint64_t> World::TerminalHostOf(uint64_t number) const {
  constexpr uint64_t kNeighbours = 16;
  constexpr uint64_t kWithTerminal = 500'000;  // of the groups, in millionths
  constexpr uint64_t kLarge = 150'000;         // of the terminals
  const uint64_t host = number / kNeighbours * kNeighbours;
  Draws group(keys_.Of(Purpose::kHousehold, host, 1));
  if (!group.Chance(kWithTerminal)) return std::nullopt;
  // Of the neighbours: most terminals have as many users as thieves' devices, some have more.
  const int64_t users =
      group.Chance(kLarge) ? group.Between(600'000, 950'000) : group.Between(80'000, 600'000);
  Draws own(keys_.Of(Purpose::kHousehold, number, 2));
  return own.Chance(static_cast<uint64_t>(users)) ? std::optional(host) : std::nullopt;
}

int64_t World::ChangeIn(uint64_t number, LifeChange kind, uint32_t year) const {
  const auto place = static_cast<std::size_t>(kind);
  Draws draws(keys_.Of(Purpose::kLife, number, static_cast<uint16_t>(place << 8 | year)));
  if (!draws.Chance(changes_a_year_[place])) return kNever;
  if (kind == LifeChange::kAddress && SharesHome(number)) return kNever;
  const int64_t day = static_cast<int64_t>(year) * 365 + draws.Between(0, 364);
  return begin() + day * kDay + draws.Between(8 * kHour, 21 * kHour);
}

uint32_t World::CountChanges(uint64_t number, LifeChange kind, int64_t from, int64_t time) const {
  if (changes_a_year_[static_cast<std::size_t>(kind)] == 0 || time < begin()) return 0;
  uint32_t count = 0;
  for (uint32_t year = YearOf(from); year <= YearOf(time); ++year) {
    const int64_t when = ChangeIn(number, kind, year);
    if (when != kNever && when > from && when <= time) ++count;
  }
  return count;
}

Place World::HomeAfter(const Person& person, uint32_t moves) const {
  if (moves == 0) return person.home;
  Draws draws(keys_.Of(Purpose::kLife, person.number, static_cast<uint16_t>(0x8000 | moves)));
  return Near(cities_[person.city], 90'000, draws);
}

uint32_t World::CityOfTown(uint64_t town) const {
  // Multiples of the golden ratio: few towns have the shares of many.
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15u;
  const uint32_t state =
      state_choice_.Of(keys_.Of(Purpose::kTown, 0, kStatesOfTowns) + town * kGolden);
  return lists::kCitiesOfState[state].first +
         city_of_state_[state].Of(keys_.Of(Purpose::kTown, town, kCityOfTown));
}

// Of each four relatives, one works in each quarter of the town's teams.
uint64_t World::TeamOf(uint64_t number) const {
  const uint64_t family = number / kHousehold;
  const uint64_t shift = keys_.Of(Purpose::kTown, family, kShiftOfFamily);
  const uint64_t branch = (number + shift) % kHousehold;
  return number / kTown * 8 + branch * 2 + number % kTown / (kTown / 2);
}

std::optional<uint32_t> World::CityOfOutsider(AccountNumber account) const {
  const uint64_t index = account - customers_;
  if (index < kPopular) {
    if (Mix(account) % 100 >= kResidents) return std::nullopt;
    return CityOfTown(index / kOutsiders);
  }
  const uint64_t city = (index - kPopular) / kRanks;
  return city < lists::kCities.size() ? std::optional(static_cast<uint32_t>(city)) : std::nullopt;
}

Person World::OriginOf(uint64_t number, Draws& draws) const {
  Person person;
  person.number = number;
  person.key = draws.Bits();
  person.profile = static_cast<Profile>(profile_choice_.Of(draws.Bits()));
  const uint32_t city = CityOfTown(number / kTown);
  const uint64_t where = Mix(person.key ^ 0x746f776e) % 100;
  person.state = static_cast<uint8_t>(state_choice_.Of(draws.Bits()));
  if (where < kOfState) person.state = static_cast<uint8_t>(lists::kStateOfCity[city]);
  person.city = static_cast<uint16_t>(lists::kCitiesOfState[person.state].first +
                                      city_of_state_[person.state].Of(draws.Bits()));
  if (where < kResidents) person.city = static_cast<uint16_t>(city);
  person.home_key = person.key;
  if (const uint64_t head = HeadOfHousehold(number); head != number) {
    Draws theirs(keys_.Of(Purpose::kPerson, head));
    const Person other = OriginOf(head, theirs);
    person.home_key = other.key;
    person.state = other.state;
    person.city = other.city;
  }
  return person;
}

Person World::BriefPersonOf(uint64_t number) const {
  constexpr uint64_t kDrawsBeforeBank = 12;  // see PersonOf
  Draws draws(keys_.Of(Purpose::kPerson, number));
  Person person = OriginOf(number, draws);
  draws.Skip(kDrawsBeforeBank);
  person.bank = static_cast<uint8_t>(bank_choice_.Of(draws.Bits()));
  return person;
}

// Sets home, work and the quarter; `draws` are past the origin.
void World::Settle(Person& person, Draws& draws) const {
  constexpr uint64_t kDrawsOfPlaces = 8;
  Draws quarter(keys_.Of(Purpose::kTown, person.number / kQuarter, kQuarterOfTown));
  Draws team(keys_.Of(Purpose::kTown, TeamOf(person.number), kTeamOfTown));
  person.quarter_key = quarter.Bits();
  const Place centre = Near(cities_[person.city], 80'000, quarter);
  Draws home = draws;
  if (person.home_key != person.key) {
    home = Draws(keys_.Of(Purpose::kPerson, HeadOfHousehold(person.number)));
    home.Skip(kDrawsOfOrigin);
  }
  person.home = Near(centre, 8'000, home);
  person.work = Near(cities_[person.city], 60'000, team);
  draws.Skip(kDrawsOfPlaces);
}

Person World::PersonOf(uint64_t number) const {
  Draws draws(keys_.Of(Purpose::kPerson, number));
  Person person = OriginOf(number, draws);
  const ProfileHabits& profile = parameters_.HabitsOf(person.profile);
  Settle(person, draws);
  uint64_t wealth = draws.Bits();
  if (Mix(person.key ^ 0x696e636f6d65) % 100 < kIncomeOfQuarter) wealth = Mix(person.quarter_key);
  const Range<int64_t>& bracket = lists::kIncomeBrackets[income_choice_.Of(wealth)];
  const int64_t base = draws.Between(bracket.min * 100, bracket.max * 100);
  person.income = base * draws.Between(profile.income_percent) / 100;
  person.credit_limit = person.income * draws.Between(20, 80) / 10;
  person.bank = static_cast<uint8_t>(bank_choice_.Of(draws.Bits()));
  person.payday = static_cast<uint8_t>(draws.Below(parameters_.calendar.paydays.size()));
  const bool digital =
      person.profile == Profile::kYoungDigital || person.profile == Profile::kSubscriptionHeavy;
  const uint64_t type = draws.Below(100);
  if (digital) {
    person.account_type = type < 70 ? 2 : type < 95 ? 0 : 1;
  } else {
    person.account_type = type < 40 ? 0 : type < 60 ? 1 : 2;
  }
  const int64_t years = draws.Between(profile.age);
  const int64_t today =
      parameters_.growing ? parameters_.first_day + 365 : parameters_.last_day + 1;
  person.birth_day = today - years * 36'525 / 100 - draws.Between(1, 364);
  person.monthly_rows = static_cast<uint32_t>(draws.Between(
      int64_t{profile.rows_a_month.min} * 16, int64_t{profile.rows_a_month.max} * 16));
  // One in ten joins in the first year of the data; the others before.
  const int64_t first_year = std::min(end(), begin() + 365 * kDay);
  const bool joins =
      person.profile != Profile::kTraditionalSenior && draws.Chance(parameters_.population.joining);
  const int64_t latest_age = 16 * 365 * kDay;
  person.opened_at = joins ? draws.Between(begin(), first_year - 1)
                           : begin() - draws.Between(30 * kDay, 5 * 365 * kDay);
  person.opened_at = std::max(person.opened_at, person.birth_day * kDay + latest_age);
  // Some of the new accounts are closed again.
  if (person.opened_at >= begin()) {
    Draws leaving(keys_.Of(Purpose::kLife, number, 0xffff));
    const bool leaves = leaving.Chance(uint64_t{parameters_.changes.closed_thousandths} * 1'000);
    const int64_t when = person.opened_at + leaving.Between(60 * kDay, 400 * kDay);
    if (leaves && when < end()) person.closes_at = when;
  }
  return person;
}

Place World::PlaceOfMerchant(MerchantNumber merchant) const {
  Draws draws(keys_.Of(Purpose::kMerchant, merchant));
  return Near(cities_[CityOf(merchant)], 110'000, draws);
}

}  // namespace reveza::fraudgen::coherent
