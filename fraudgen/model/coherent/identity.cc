#include "fraudgen/model/coherent/identity.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/people.h"
#include "fraudgen/lists/places.h"
#include "fraudgen/lists/weights.h"
#include "fraudgen/schema/fixed_text.h"
#include "fraudgen/values/digits.h"
#include "fraudgen/values/text_format.h"

namespace reveza::fraudgen::coherent {
namespace {

struct Names {
  std::string_view first;
  std::string_view middle;
  std::string_view last;
};
Names NamesOf(const Owner& owner) {
  constexpr uint64_t kNames = 0x6e616d6573u;
  constexpr uint64_t kDrawsBeforeLast = 3;
  Draws draws(owner.key ^ kNames);
  const bool female = draws.Chance(510'000);
  Names names;
  names.first = female ? lists::kFirstNamesFemale[draws.Below(lists::kFirstNamesFemale.size())]
                       : lists::kFirstNamesMale[draws.Below(lists::kFirstNamesMale.size())];
  names.middle = lists::kSurnames[draws.Below(lists::kSurnames.size())];
  Draws family(owner.family ^ kNames);
  family.Skip(kDrawsBeforeLast);
  names.last = lists::kSurnames[family.Below(lists::kSurnames.size())];
  return names;
}

consteval std::size_t Longest(const auto& names) {
  return std::ranges::max(names, {}, std::ranges::size).size();
}
// Three names with two spaces fit into the buffer.
static_assert(std::max(Longest(lists::kFirstNamesFemale), Longest(lists::kFirstNamesMale)) +
                  2 * Longest(lists::kSurnames) + 2 <=
              Identity::kMaxText);

// Writes dd.ddd.ddd/0001-dd with the check digits of a CNPJ.
char* PutCnpj(char* out, uint64_t number, Identities identities) {
  std::array<uint32_t, 14> digits{};
  for (int i = 7; i >= 0; --i, number /= 10) digits[static_cast<std::size_t>(i)] = number % 10;
  digits[11] = 1;
  for (std::size_t length = 12; length < 14; ++length) {
    uint32_t sum = 0;
    for (std::size_t i = 0; i < length; ++i) {
      sum += digits[i] * static_cast<uint32_t>((length - 1 - i) % 8 + 2);
    }
    digits[length] = sum % 11 < 2 ? 0 : 11 - sum % 11;
  }
  if (identities == Identities::kSafe) {
    digits[12] = (digits[12] + 1) % 10;
    digits[13] = (digits[13] + 1) % 10;
  }
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i == 2 || i == 5) *out++ = '.';
    if (i == 8) *out++ = '/';
    if (i == 12) *out++ = '-';
    *out++ = static_cast<char>('0' + digits[i]);
  }
  return out;
}

}  // namespace

Identity::Identity(const World& world)
    : customers({"CUST_"}, world.keys().Of(Purpose::kCustomerIds, 0)),
      accounts({"ACC_"}, world.keys().Of(Purpose::kAccountIds, 0)),
      transactions({"TXN_"}, world.keys().Of(Purpose::kTransactionIds, 0)),
      sessions({"SESS_"}, world.keys().Of(Purpose::kSessionIds, 0)),
      devices({"DEV_"}, world.keys().Of(Purpose::kDeviceIds, 0)),
      merchants({"MERCH_"}, world.keys().Of(Purpose::kMerchantIds, 0)),
      rings({"RING_"}, world.keys().Of(Purpose::kRingIds, 0)),
      entries({"ENT_"}, world.keys().Of(Purpose::kEntries, 0)),
      settlements({"STL_"}, world.keys().Of(Purpose::kTransactionIds, 0)),
      alerts({"ALERT_"}, world.keys().Of(Purpose::kTransactionIds, 0)),
      disputes({"DISP_"}, world.keys().Of(Purpose::kTransactionIds, 0)),
      drivers({"DRV_"}, world.keys().Of(Purpose::kDriverIds, 0)),
      rides({"RIDE_"}, world.keys().Of(Purpose::kRideIds, 0)),
      ride_alerts({"RALERT_"}, world.keys().Of(Purpose::kRideIds, 0)),
      world_(&world),
      cpfs_(world.keys().Of(Purpose::kCpf, 0), kMaxCpfs),
      account_numbers_(world.keys().Of(Purpose::kAccountIds, 1), kEightDigits),
      cnpjs_(world.keys().Of(Purpose::kCnpj, 0), kEightDigits),
      phones_(world.keys().Of(Purpose::kPhone, 0), kEightDigits),
      emails_(world.keys().Of(Purpose::kPhone, 1), kEightDigits),
      key_types_(world.parameters().population.pix_keys),
      banks_(lists::ChoiceOfRows(lists::kBanks)),
      states_(lists::ChoiceOfRows(lists::kStates)) {}

Owner Identity::PlainOwnerOf(const Person& person) const {
  return {.key = person.key,
          .family = person.home_key,
          .cpf_number = person.number,
          .state = person.state,
          .bank = person.bank,
          .city = person.city,
          .key_type = static_cast<KeyType>(key_types_.Of(Mix(person.key)))};
}

// A replaced PIX key alternates between a random one and the original.
Owner Identity::OwnerOf(const Person& person, int64_t time) const {
  Owner owner = PlainOwnerOf(person);
  const auto count = [&](LifeChange kind) { return CountChanges(person.number, kind, time); };
  owner.phones = count(LifeChange::kPhone);
  owner.emails = count(LifeChange::kEmail);
  owner.keys = count(LifeChange::kPixKey);
  if (owner.keys % 2 != 0) owner.key_type = KeyType::kRandom;
  return owner;
}

Owner Identity::OwnerOf(AccountNumber account, int64_t time) const {
  if (account >= world_->customers()) return OtherOwnerOf(account);
  Owner owner = PlainOwnerOf(world_->BriefPersonOf(account));
  const auto count = [&](LifeChange kind) { return CountChanges(account, kind, time); };
  owner.keys = count(LifeChange::kPixKey);
  if (owner.keys % 2 != 0) owner.key_type = KeyType::kRandom;
  if (owner.key_type == KeyType::kPhone) owner.phones = count(LifeChange::kPhone);
  if (owner.key_type == KeyType::kEmail) owner.emails = count(LifeChange::kEmail);
  return owner;
}

Owner Identity::OtherOwnerOf(AccountNumber account) const {
  Owner owner{};
  Draws draws(world_->keys().Of(Purpose::kAccount, account & 0xffffffffffff,
                                static_cast<uint16_t>(account >> 48)));
  owner.key = owner.family = draws.Bits();
  owner.state = static_cast<uint8_t>(states_.Of(draws.Bits()));
  owner.bank = static_cast<uint8_t>(banks_.Of(draws.Bits()));
  const lists::Slice cities = lists::kCitiesOfState[owner.state];
  owner.city = static_cast<uint16_t>(cities.first + draws.Below(cities.count));
  if (const auto city = world_->CityOfOutsider(account)) {
    owner.city = static_cast<uint16_t>(*city);
    owner.state = static_cast<uint8_t>(lists::kStateOfCity[*city]);
  }
  owner.cpf_number = world_->customers() + draws.Below(kMaxCpfs - world_->customers());
  owner.key_type = static_cast<KeyType>(key_types_.Of(draws.Bits()));
  return owner;
}

Owner Identity::OwnerOf(const Driver& driver) const {
  const uint64_t others = kMaxCpfs - world_->customers();
  return {.key = driver.key,
          .family = driver.key,
          .cpf_number = kMaxCpfs - 1 - driver.number % others,
          .state = driver.state,
          .bank = 0,
          .city = driver.city,
          .key_type = KeyType::kCpf};
}

Owner Identity::OwnerOfShop(MerchantNumber merchant) const {
  Owner owner = OtherOwnerOf(world_->MerchantAccount(merchant));
  owner.cpf_number = merchant;
  owner.city = static_cast<uint16_t>(CityOf(merchant));
  owner.key_type = owner.key % 10 < 7 ? KeyType::kCnpj : KeyType::kRandom;
  return owner;
}

char* Identity::PutAccountNumber(char* out, uint64_t customer) const {
  const uint64_t number = account_numbers_.At(customer);
  out = PutLastDigits(out, number, 8);
  *out++ = '-';
  return PutLastDigits(out, Mix(number) % 10, 1);
}

uint16_t Identity::MerchantName(MerchantNumber merchant) const {
  const lists::Slice names = lists::kMerchantsOfCategory[CategoryOf(merchant)];
  return static_cast<uint16_t>(names.first + Mix(merchant) % names.count);
}

char* Identity::PutName(char* out, const Owner& owner) const {
  const Names names = NamesOf(owner);
  out = PutText(out, names.first);
  *out++ = ' ';
  out = PutText(out, names.middle);
  *out++ = ' ';
  return PutText(out, names.last);
}

char* Identity::PutEmail(char* out, const Owner& owner) const {
  static constexpr std::array<std::string_view, 3> kDomains = {"@example.com", "@example.net",
                                                               "@example.org"};
  const Names names = NamesOf(owner);
  const bool last_first = owner.emails % 2 != 0;
  out = lists::PutPlainName(out, last_first ? names.last : names.first);
  *out++ = '.';
  out = lists::PutPlainName(out, last_first ? names.first : names.last);
  out = PutLastDigits(out, emails_.At(owner.cpf_number % kEightDigits), 8);
  return PutText(out, kDomains[(owner.key + owner.emails) % kDomains.size()]);
}

char* Identity::PutPhone(char* out, const Owner& owner) const {
  out = PutText(out, "+55");
  out = PutLastDigits(out, lists::kCities[owner.city].area_code, 2);
  *out++ = '9';
  const uint64_t number = owner.phones == 0 ? phones_.At(owner.cpf_number % kEightDigits)
                                            : Mix(owner.key + owner.phones) % kEightDigits;
  return PutLastDigits(out, number, 8);
}

char* Identity::PutCpf(char* out, const Owner& owner) const {
  const Cpf cpf = CpfOf(cpfs_.At(owner.cpf_number), lists::kStates[owner.state].fiscal_region,
                        world_->parameters().identities);
  return PutText(out, View(cpf));
}

char* Identity::PutPixKey(char* out, const Owner& owner) const {
  switch (owner.key_type) {
    case KeyType::kCpf:
      return PutCpf(out, owner);
    case KeyType::kPhone:
      return PutPhone(out, owner);
    case KeyType::kEmail:
      return PutEmail(out, owner);
    case KeyType::kCnpj:
      return PutCnpj(out, cnpjs_.At(owner.cpf_number), world_->parameters().identities);
    case KeyType::kRandom:
      break;
  }
  // xxxxxxxx-xxxx-4xxx-axxx-xxxxxxxxxxxx: 32 hexadecimal digits, two of them fixed.
  const uint64_t high = Mix(owner.key ^ 0x6b6579u ^ uint64_t{owner.keys} << 32);
  const uint64_t low = Mix(high);
  char digits[32];
  WriteHex(digits, (high & ~uint64_t{0xf000}) | 0x4000);
  WriteHex(digits + 16, (low & ~uint64_t{0} >> 4) | uint64_t{0xa} << 60);
  std::memcpy(out, digits, 8);
  std::memcpy(out + 9, digits + 8, 4);
  std::memcpy(out + 14, digits + 12, 4);
  std::memcpy(out + 19, digits + 16, 4);
  std::memcpy(out + 24, digits + 20, 12);
  out[8] = out[13] = out[18] = out[23] = '-';
  return out + 36;
}

void Identity::AppendStreet(std::string& text, uint64_t home_key) {
  text += lists::kStreets[Mix(home_key + 7) % lists::kStreets.size()];
  text += ", ";
  AppendInteger(text, static_cast<int64_t>(Mix(home_key + 8) % 1'999 + 1));
}

std::string_view Identity::NeighborhoodOf(uint64_t home_key) {
  return lists::kNeighborhoods[Mix(home_key + 9) % lists::kNeighborhoods.size()];
}

char* Identity::PutPostalCode(char* out, uint32_t city, uint64_t home_key) {
  const lists::City& of = lists::kCities[city];
  const uint64_t bits = Mix(home_key + 10);
  const uint64_t areas = of.last_postal_area - of.first_postal_area + 1;
  out = PutLastDigits(out, of.first_postal_area + bits % areas, 5);
  *out++ = '-';
  return PutLastDigits(out, (bits >> 32) % 1'000, 3);
}

std::string Identity::AddressOf(const Person& person, uint32_t moves) const {
  const uint64_t home_key =
      moves == 0 ? person.home_key : Mix(person.home_key + uint64_t{moves} * 16);
  std::string text;
  AppendStreet(text, home_key);
  text += " - ";
  text += NeighborhoodOf(home_key);
  text += " - ";
  std::array<char, kMaxText> code;
  text.append(code.data(), PutPostalCode(code.data(), person.city, home_key));
  return text;
}

}  // namespace reveza::fraudgen::coherent
