#include "fraudgen/model/coherent/society.h"

#include <algorithm>
#include <utility>

#include "fraudgen/model/coherent/customer_state.h"

namespace reveza::fraudgen::coherent {
namespace {

constexpr uint64_t kMillion = 1'000'000;
constexpr uint64_t kFamily = World::kHousehold;
constexpr uint64_t kCircle = 8;  // of friends in a quarter

// Ties, in millionths of the pairs, where the share of contacts that are customers is the default.
constexpr uint64_t kUsualInside = 350'000;
constexpr uint64_t kRelatives = 750'000;
constexpr uint64_t kFriends = 500'000;
constexpr uint64_t kColleagues = 320'000;
constexpr uint64_t kAcquaintances = 14'000;  // in the same town

// People of a town who have their account elsewhere, of each family, circle and team, and those who
// work for others. Ties in millionths of the pairs.
constexpr uint64_t kOutsidersOfFamily = 4;
constexpr uint64_t kOutsidersOfCircle = 12;
constexpr uint64_t kOutsidersOfTeam = 12;
constexpr uint64_t kOutsiderRelatives = 400'000;
constexpr uint64_t kOutsiderFriends = 250'000;
constexpr uint64_t kLocals = 32;
constexpr uint64_t kCircles = World::kTown / kCircle;
constexpr uint64_t kFirstOfCircle = World::kTown / kFamily * kOutsidersOfFamily;
constexpr uint64_t kFirstOfTeam = kFirstOfCircle + kCircles * kOutsidersOfCircle;
constexpr uint64_t kFirstLocal = kFirstOfTeam + kCircles * kOutsidersOfTeam;
static_assert(kFirstLocal + kLocals <= World::kOutsiders);

constexpr uint64_t kFarAway = 2;  // people elsewhere, such as former neighbours
constexpr std::size_t kMinProfessionals = 3;
// Where they are, in millionths: in the town; else in the city.
constexpr uint64_t kOfTown = 300'000;
constexpr uint64_t kOfCity = 700'000;
constexpr uint64_t kRanksOfCity = 4'096;
constexpr uint64_t kRanksOfCountry = 65'536;

// The draws for a customer or a pair; those below World::kTown are of pairs in a town.
enum TieDraw : uint16_t {
  kOutsiderDraw = 0x100,
  kFarDraw = 0x400,
  kTownRanks = 0x500,
  kRankDraw = 0x600
};

// Returns a rank below `count`, of which low ones are so frequent that the number of payers has a
// tail with an exponent of about 1.5: the cube of a uniform number.
uint64_t PopularRank(uint64_t bits, uint64_t count) {
  const uint64_t even = bits >> 32;
  return UpperProduct(UpperProduct(even * even, even << 32), count);
}

// Three in five ties are mutual; in the others only one of the two pays.
bool PaysByTie(Draws& tie, bool is_first) {
  const uint64_t payer = tie.Below(5);
  return payer > 1 || (payer == 0) == is_first;
}

bool WorksForOthers(Profile profile) {
  return profile == Profile::kBusinessOwner || profile == Profile::kHighSpender;
}

}  // namespace

AccountNumber PopularReceiver(const World& world, uint32_t city, Draws& draws) {
  const bool near = draws.Chance(kOfCity);
  const uint64_t bits = draws.Bits();
  return near ? world.PopularAccount(city, PopularRank(bits, kRanksOfCity))
              : world.PopularAccount(World::kCountry, PopularRank(bits, kRanksOfCountry));
}

Society::Society(const World& world, uint64_t block)
    : world_(&world),
      first_(world.FirstCustomer(block)),
      count_(world.Customers(block)),
      inside_(world.parameters().population.contacts_inside),
      popular_(world.keys().Of(Purpose::kContacts, block, 1), count_) {}

// Returns the chance of a tie between two customers of a town, in millionths.
uint64_t Society::ChanceOf(uint64_t first, uint64_t second) const {
  uint64_t chance = kAcquaintances;
  if (first / kFamily == second / kFamily) {
    chance =
        world_->HeadOfHousehold(first) == world_->HeadOfHousehold(second) ? kMillion : kRelatives;
  } else if (first / kCircle == second / kCircle) {
    chance = kFriends;
  } else if (world_->TeamOf(first) == world_->TeamOf(second)) {
    chance = kColleagues;
  }
  return chance * inside_ / kUsualInside;
}

bool Society::Pays(uint64_t number, uint64_t other) const {
  const auto [first, second] = std::minmax(number, other);
  Draws tie(world_->keys().Of(Purpose::kTies, first, static_cast<uint16_t>(second - first)));
  return tie.Chance(ChanceOf(first, second)) && PaysByTie(tie, number == first);
}

void Society::AddTown(uint64_t number, std::vector<Tie>& ties) const {
  const uint64_t begin = number / World::kTown * World::kTown;
  for (uint64_t other = begin; other < begin + World::kTown; ++other) {
    if (other == number || !IsInBlock(other) || !Pays(number, other)) continue;
    const uint64_t rank = world_->keys().Of(Purpose::kTies, number,
                                            static_cast<uint16_t>(kRankDraw + other - begin)) >>
                          1;
    ties.push_back({other, other / kFamily == number / kFamily ? rank / 4 : rank});
  }
}

void Society::AddOutsiders(uint64_t number, std::vector<Tie>& ties) const {
  const uint64_t town = number / World::kTown;
  const uint64_t place = number % World::kTown;
  const auto add = [&](uint64_t begin, uint64_t count, uint64_t chance) {
    for (uint64_t index = begin; index < begin + count; ++index) {
      Draws draws(
          world_->keys().Of(Purpose::kTies, number, static_cast<uint16_t>(kOutsiderDraw + index)));
      if (!draws.Chance(chance * (kMillion - inside_) / (kMillion - kUsualInside))) continue;
      const uint64_t rank = draws.Bits() >> 1;
      ties.push_back(
          {world_->OutsiderAccount(town, index), chance == kOutsiderRelatives ? rank / 4 : rank});
    }
  };
  add(place / kFamily * kOutsidersOfFamily, kOutsidersOfFamily, kOutsiderRelatives);
  add(kFirstOfCircle + place / kCircle * kOutsidersOfCircle, kOutsidersOfCircle, kOutsiderFriends);
  add(kFirstOfTeam + world_->TeamOf(number) % kCircles * kOutsidersOfTeam, kOutsidersOfTeam,
      kOutsiderFriends);
}

void Society::AddNew(const Tie& tie, std::vector<Tie>& ties) {
  if (std::ranges::find(ties, tie.account, &Tie::account) == ties.end()) ties.push_back(tie);
}

// Numbers whose sum is that of the slot are tied: each is the other's.
void Society::AddFarAway(uint64_t number, Draws& draws, std::vector<Tie>& ties) const {
  for (uint64_t slot = 0; slot < kFarAway; ++slot) {
    const auto draw = static_cast<uint16_t>(kFarDraw + slot);
    const uint64_t sum = world_->keys().Of(Purpose::kTies, first_, draw) % count_;
    const uint64_t other = first_ + (sum + count_ - (number - first_)) % count_;
    const uint64_t bits = draws.Bits();
    Draws tie(world_->keys().Of(Purpose::kTies, std::min(number, other),
                                static_cast<uint16_t>(draw + kFarAway)));
    if (tie.Chance(inside_)) {
      const bool pays = other != number && PaysByTie(tie, number < other);
      if (pays) AddNew({other, bits >> 1}, ties);
    } else {
      const uint64_t town = UpperProduct(bits, world_->towns());
      AddNew({world_->OutsiderAccount(town, Mix(bits) % kFirstLocal), bits << 32 >> 1}, ties);
    }
  }
}

// Returns a customer whom others pay for work or rent: mostly of the town.
AccountNumber Society::AnyCustomer(uint64_t number, Draws& draws) const {
  constexpr int kTries = 6;
  const uint64_t town = number / World::kTown;
  const uint64_t order = world_->keys().Of(Purpose::kTies, town, kTownRanks);
  AccountNumber last = world_->OutsiderAccount(town, kFirstLocal);
  for (int i = 0; i < kTries; ++i) {
    const bool near = draws.Chance(700'000);
    const uint64_t bits = draws.Bits();
    const uint64_t place = (PopularRank(bits, World::kTown) * (order | 1) + (order >> 32));
    const uint64_t customer = near ? town * World::kTown + place % World::kTown
                                   : first_ + popular_.At(PopularRank(bits, count_));
    const bool liked = draws.Chance(300'000);
    if (!IsInBlock(customer) || customer == number) continue;
    last = customer;
    if (liked || WorksForOthers(world_->BriefPersonOf(customer).profile)) break;
  }
  return last;
}

AccountNumber Society::AnyProfessional(const Person& person, Draws& draws) const {
  if (draws.Chance(inside_)) return AnyCustomer(person.number, draws);
  if (!draws.Chance(kOfTown)) return PopularReceiver(*world_, person.city, draws);
  return world_->OutsiderAccount(person.number / World::kTown,
                                 kFirstLocal + PopularRank(draws.Bits(), kLocals));
}

std::vector<AccountNumber> Society::ContactsOf(const Person& person, std::size_t wanted) const {
  std::vector<Tie> ties;
  ties.reserve(2 * std::size_t{kMaxContacts});
  Draws draws(world_->keys().Of(Purpose::kContacts, person.number, 2));
  AddTown(person.number, ties);
  AddOutsiders(person.number, ties);
  AddFarAway(person.number, draws, ties);
  const std::size_t max =
      std::min<std::size_t>(kMaxContacts, std::max(wanted, ties.size() + kMinProfessionals));
  // Some are drawn twice.
  for (std::size_t i = ties.size(); i < max; ++i) {
    const AccountNumber account = AnyProfessional(person, draws);
    AddNew({account, draws.Bits() >> 1}, ties);
  }
  std::ranges::sort(ties, {}, &Tie::rank);
  std::vector<AccountNumber> accounts;
  accounts.reserve(std::min<std::size_t>(ties.size(), kMaxContacts));
  for (const Tie& tie : ties) {
    if (accounts.size() < kMaxContacts) accounts.push_back(tie.account);
  }
  return accounts;
}

}  // namespace reveza::fraudgen::coherent
