#include "datagen/coherent/identity.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "datagen/digits.h"
#include "datagen/fixed_text.h"
#include "datagen/lists/commerce.h"
#include "datagen/lists/people.h"
#include "datagen/lists/places.h"
#include "datagen/lists/weights.h"

namespace reveza::datagen::coherent {
namespace {

template <typename Rows>
WeightedChoice ChoiceOf(const Rows& rows) {
  std::vector<uint32_t> weights;
  for (const auto& row : rows) weights.push_back(row.weight);
  return lists::ChoiceOf(weights);
}

char* PutText(char* out, std::string_view text) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

KeyType PersonsKeyType(uint64_t bits) {
  const uint64_t percent = UpperProduct(bits, 100);
  if (percent < 38) return KeyType::kCpf;
  if (percent < 70) return KeyType::kPhone;
  return percent < 90 ? KeyType::kEmail : KeyType::kRandom;
}

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

// Lower case without accents: letters of Portuguese have two bytes, the first of them C3.
char* PutPlain(char* out, std::string_view name) {
  static constexpr std::string_view kPlain =
      "aaaaaaaceeeeiiiidnooooo.ouuuuyts"   // C3 80 to C3 9F
      "aaaaaaaceeeeiiiidnooooo.ouuuuyty";  // C3 A0 to C3 BF
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    if (byte == 0xC3 && i + 1 < name.size()) {
      *out++ = kPlain[static_cast<unsigned char>(name[++i]) - 0x80u];
    } else if (byte >= 'A' && byte <= 'Z') {
      *out++ = static_cast<char>(byte - 'A' + 'a');
    } else if (byte >= 'a' && byte <= 'z') {
      *out++ = static_cast<char>(byte);
    }
  }
  return out;
}

// Three names with two spaces are shorter than the room there is.
consteval bool NamesAreShort() {
  std::size_t first = 0;
  std::size_t last = 0;
  for (const std::string_view name : lists::kFirstNamesFemale) first = std::max(first, name.size());
  for (const std::string_view name : lists::kFirstNamesMale) first = std::max(first, name.size());
  for (const std::string_view name : lists::kSurnames) last = std::max(last, name.size());
  return first + 2 * last + 2 <= Identity::kMostText;
}
static_assert(NamesAreShort());

// dd.ddd.ddd/0001-dd with the check digits of a CNPJ.
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
    : world_(&world),
      cpfs_(world.keys().Of(Purpose::kCpf, 0), world.parameters().identities),
      customers_({"CUST_"}, world.keys().Of(Purpose::kCustomerIds, 0)),
      accounts_({"ACC_"}, world.keys().Of(Purpose::kAccountIds, 0)),
      transactions_({"TXN_"}, world.keys().Of(Purpose::kTransactionIds, 0)),
      sessions_({"SESS_"}, world.keys().Of(Purpose::kSessionIds, 0)),
      devices_({"DEV_"}, world.keys().Of(Purpose::kDeviceIds, 0)),
      merchants_({"MERCH_"}, world.keys().Of(Purpose::kMerchantIds, 0)),
      rings_({"RING_"}, world.keys().Of(Purpose::kRingIds, 0)),
      settlements_({"STL_"}, world.keys().Of(Purpose::kTransactionIds, 0)),
      alerts_({"ALERT_"}, world.keys().Of(Purpose::kTransactionIds, 0)),
      disputes_({"DISP_"}, world.keys().Of(Purpose::kTransactionIds, 0)),
      drivers_({"DRV_"}, world.keys().Of(Purpose::kDriverIds, 0)),
      rides_({"RIDE_"}, world.keys().Of(Purpose::kRideIds, 0)),
      ride_alerts_({"RALERT_"}, world.keys().Of(Purpose::kRideIds, 0)),
      account_numbers_(world.keys().Of(Purpose::kAccountIds, 1), kEightDigits),
      banks_(ChoiceOf(lists::kBanks)),
      states_(ChoiceOf(lists::kStates)) {}

Owner Identity::OwnerOf(const Person& person) const {
  return {.key = person.key,
          .family = person.home_key,
          .cpf_number = person.number,
          .state = person.state,
          .bank = person.bank,
          .city = person.city,
          .key_type = PersonsKeyType(Mix(person.key))};
}

Owner Identity::OwnerOf(AccountNumber account) const {
  if (account < world_->customers()) return OwnerOf(world_->BriefPersonOf(account));
  Owner owner{};
  Draws draws(world_->keys().Of(Purpose::kAccount, account & 0xffffffffffff,
                                static_cast<uint16_t>(account >> 48)));
  owner.key = owner.family = draws.Bits();
  owner.state = static_cast<uint8_t>(states_.Of(draws.Bits()));
  owner.bank = static_cast<uint8_t>(banks_.Of(draws.Bits()));
  const lists::Slice cities = lists::kCitiesOfState[owner.state];
  owner.city = static_cast<uint16_t>(cities.first + draws.Below(cities.count));
  owner.cpf_number = world_->customers() + draws.Below(CpfSequence::kPeople - world_->customers());
  owner.key_type = PersonsKeyType(draws.Bits());
  return owner;
}

Owner Identity::OwnerOf(const Driver& driver) const {
  const uint64_t others = CpfSequence::kPeople - world_->customers();
  return {.key = driver.key,
          .family = driver.key,
          .cpf_number = CpfSequence::kPeople - 1 - driver.number % others,
          .state = driver.state,
          .bank = 0,
          .city = driver.city,
          .key_type = KeyType::kCpf};
}

Owner Identity::OwnerOfShop(AccountNumber account, uint32_t city) const {
  Owner owner = OwnerOf(account);
  owner.city = static_cast<uint16_t>(city);
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
  out = PutPlain(out, names.first);
  *out++ = '.';
  out = PutPlain(out, names.last);
  out = PutLastDigits(out, owner.cpf_number % kEightDigits, 8);
  return PutText(out, kDomains[owner.key % kDomains.size()]);
}

char* Identity::PutPhone(char* out, const Owner& owner) const {
  out = PutText(out, "+55");
  out = PutLastDigits(out, lists::kCities[owner.city].area_code, 2);
  *out++ = '9';
  return PutLastDigits(out, Mix(owner.key ^ 0x70686f6e65u) % kEightDigits, 8);
}

char* Identity::PutCpf(char* out, const Owner& owner) const {
  return PutText(out, View(cpfs_.At(owner.cpf_number, lists::kStates[owner.state].fiscal_region)));
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
      return PutCnpj(out, Mix(owner.key) % kEightDigits, world_->parameters().identities);
    case KeyType::kRandom:
      break;
  }
  // xxxxxxxx-xxxx-4xxx-axxx-xxxxxxxxxxxx of 32 hexadecimal digits, two of which are given.
  const uint64_t high = Mix(owner.key ^ 0x6b6579u);
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

}  // namespace reveza::datagen::coherent
