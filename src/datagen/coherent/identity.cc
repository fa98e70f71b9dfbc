#include "datagen/coherent/identity.h"

#include <array>
#include <cstring>
#include <vector>

#include "datagen/digits.h"
#include "datagen/lists/commerce.h"
#include "datagen/lists/people.h"
#include "datagen/lists/places.h"
#include "datagen/lists/weights.h"

namespace reveza::datagen::coherent {
namespace {

constexpr uint64_t kFifteenDigits = 1'000'000'000'000'000;
constexpr uint64_t kTwelveDigits = 1'000'000'000'000;

template <typename Rows>
WeightedChoice ChoiceOf(const Rows& rows) {
  std::vector<uint32_t> weights;
  for (const auto& row : rows) weights.push_back(row.weight);
  return lists::ChoiceOf(weights);
}

// In one piece: most columns of text are identifiers.
void AppendIdentifier(std::string& text, std::string_view prefix, uint64_t value, int digits) {
  std::array<char, 2 * kMostNumberBytes> buffer;
  std::memcpy(buffer.data(), prefix.data(), prefix.size());
  char* end = buffer.data() + prefix.size();
  if (digits > 8) {
    end = PutLastDigits(end, value / kEightDigits, digits - 8);
    end = PutLastDigits(end, value % kEightDigits, 8);
  } else {
    end = PutLastDigits(end, value, digits);
  }
  text.append(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
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
Names NamesOf(uint64_t key) {
  Draws draws(key ^ 0x6e616d6573u);
  const bool female = draws.Chance(510'000);
  Names names;
  names.first = female ? lists::kFirstNamesFemale[draws.Below(lists::kFirstNamesFemale.size())]
                       : lists::kFirstNamesMale[draws.Below(lists::kFirstNamesMale.size())];
  names.middle = lists::kSurnames[draws.Below(lists::kSurnames.size())];
  names.last = lists::kSurnames[draws.Below(lists::kSurnames.size())];
  return names;
}

// Lower case without accents: letters of Portuguese have two bytes, the first of them C3.
void AppendPlain(std::string& text, std::string_view name) {
  static constexpr std::string_view kPlain =
      "aaaaaaaceeeeiiiidnooooo.ouuuuyts"   // C3 80 to C3 9F
      "aaaaaaaceeeeiiiidnooooo.ouuuuyty";  // C3 A0 to C3 BF
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    if (byte == 0xC3 && i + 1 < name.size()) {
      text += kPlain[static_cast<unsigned char>(name[++i]) - 0x80u];
    } else if (byte >= 'A' && byte <= 'Z') {
      text += static_cast<char>(byte - 'A' + 'a');
    } else if (byte >= 'a' && byte <= 'z') {
      text += static_cast<char>(byte);
    }
  }
}

// dd.ddd.ddd/0001-dd with the check digits of a CNPJ.
void AppendCnpj(std::string& text, uint64_t number, Identities identities) {
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
    if (i == 2 || i == 5) text += '.';
    if (i == 8) text += '/';
    if (i == 12) text += '-';
    text += static_cast<char>('0' + digits[i]);
  }
}

}  // namespace

void AppendDigits(std::string& text, uint64_t value, int digits) {
  AppendIdentifier(text, "", value, digits);
}

void AppendHexadecimal(std::string& text, uint64_t value, int digits) {
  std::array<char, 16> buffer{};
  for (int i = digits - 1; i >= 0; --i, value >>= 4) {
    buffer[static_cast<std::size_t>(i)] = "0123456789abcdef"[value & 15];
  }
  text.append(buffer.data(), static_cast<std::size_t>(digits));
}

Identity::Identity(const World& world)
    : world_(&world),
      cpfs_(world.keys().Of(Purpose::kCpf, 0), world.parameters().identities),
      customers_(world.keys().Of(Purpose::kCustomerIds, 0), kTwelveDigits),
      accounts_(world.keys().Of(Purpose::kAccountIds, 0), kFifteenDigits),
      transactions_(world.keys().Of(Purpose::kTransactionIds, 0), kFifteenDigits),
      sessions_(world.keys().Of(Purpose::kSessionIds, 0), kFifteenDigits),
      devices_(world.keys().Of(Purpose::kDeviceIds, 0), kFifteenDigits),
      merchants_(world.keys().Of(Purpose::kMerchantIds, 0), kEightDigits),
      rings_(world.keys().Of(Purpose::kRingIds, 0), kFifteenDigits),
      account_numbers_(world.keys().Of(Purpose::kAccountIds, 1), kEightDigits),
      banks_(ChoiceOf(lists::kBanks)),
      states_(ChoiceOf(lists::kStates)) {}

Owner Identity::OwnerOf(const Person& person) const {
  return {.key = person.key,
          .cpf_number = person.number,
          .state = person.state,
          .bank = person.bank,
          .city = person.city,
          .key_type = PersonsKeyType(Mix(person.key))};
}

Owner Identity::OwnerOf(AccountNumber account) const {
  if (account < world_->customers()) return OwnerOf(world_->PersonOf(account));
  Owner owner;
  Draws draws(world_->keys().Of(Purpose::kAccount, account & 0xffffffffffff,
                                static_cast<uint16_t>(account >> 48)));
  owner.key = draws.Bits();
  owner.state = static_cast<uint8_t>(states_.Of(draws.Bits()));
  owner.bank = static_cast<uint8_t>(banks_.Of(draws.Bits()));
  const lists::Slice cities = lists::kCitiesOfState[owner.state];
  owner.city = static_cast<uint16_t>(cities.first + draws.Below(cities.count));
  owner.cpf_number = world_->customers() + draws.Below(CpfSequence::kPeople - world_->customers());
  owner.key_type = PersonsKeyType(draws.Bits());
  return owner;
}

Owner Identity::OwnerOfShop(AccountNumber account, uint32_t city) const {
  Owner owner = OwnerOf(account);
  owner.city = static_cast<uint16_t>(city);
  owner.key_type = owner.key % 10 < 7 ? KeyType::kCnpj : KeyType::kRandom;
  return owner;
}

void Identity::AppendCustomer(std::string& text, uint64_t number) const {
  AppendIdentifier(text, "CUST_", customers_.At(number), 12);
}

void Identity::AppendAccount(std::string& text, AccountNumber account) const {
  AppendIdentifier(text, "ACC_", accounts_.At(account), 15);
}

void Identity::AppendAccountNumber(std::string& text, uint64_t customer) const {
  const uint64_t number = account_numbers_.At(customer);
  AppendDigits(text, number, 8);
  text += '-';
  AppendDigits(text, Mix(number) % 10, 1);
}

void Identity::AppendTransaction(std::string& text, uint64_t row) const {
  AppendOfTransaction(text, "TXN_", row);
}

void Identity::AppendSession(std::string& text, uint64_t row) const {
  AppendIdentifier(text, "SESS_", sessions_.At(row), 15);
}

void Identity::AppendDevice(std::string& text, DeviceNumber device) const {
  AppendIdentifier(text, "DEV_", devices_.At(device), 15);
}

void Identity::AppendMerchant(std::string& text, MerchantNumber merchant) const {
  AppendIdentifier(text, "MERCH_", merchants_.At(merchant), 8);
}

void Identity::AppendRing(std::string& text, uint64_t ring) const {
  AppendIdentifier(text, "RING_", rings_.At(ring), 15);
}

void Identity::AppendOfTransaction(std::string& text, std::string_view prefix, uint64_t row) const {
  AppendIdentifier(text, prefix, transactions_.At(row), 15);
}

uint16_t Identity::MerchantName(MerchantNumber merchant) const {
  const lists::Slice names = lists::kMerchantsOfCategory[CategoryOf(merchant)];
  return static_cast<uint16_t>(names.first + Mix(merchant) % names.count);
}

void Identity::AppendName(std::string& text, const Owner& owner) const {
  const Names names = NamesOf(owner.key);
  text.append(names.first).append(1, ' ').append(names.middle);
  text.append(1, ' ').append(names.last);
}

void Identity::AppendEmail(std::string& text, const Owner& owner) const {
  static constexpr std::array<std::string_view, 3> kDomains = {"@example.com", "@example.net",
                                                               "@example.org"};
  const Names names = NamesOf(owner.key);
  AppendPlain(text, names.first);
  text += '.';
  AppendPlain(text, names.last);
  AppendDigits(text, owner.cpf_number % 100'000'000, 8);
  text += kDomains[owner.key % kDomains.size()];
}

void Identity::AppendPhone(std::string& text, const Owner& owner) const {
  text += "+55";
  AppendDigits(text, lists::kCities[owner.city].area_code, 2);
  text += '9';
  AppendDigits(text, Mix(owner.key ^ 0x70686f6e65u) % kEightDigits, 8);
}

void Identity::AppendCpf(std::string& text, const Owner& owner) const {
  text += View(cpfs_.At(owner.cpf_number, lists::kStates[owner.state].fiscal_region));
}

void Identity::AppendPixKey(std::string& text, const Owner& owner) const {
  switch (owner.key_type) {
    case KeyType::kCpf:
      return AppendCpf(text, owner);
    case KeyType::kPhone:
      return AppendPhone(text, owner);
    case KeyType::kEmail:
      return AppendEmail(text, owner);
    case KeyType::kCnpj:
      return AppendCnpj(text, Mix(owner.key) % kEightDigits, world_->parameters().identities);
    case KeyType::kRandom:
      break;
  }
  const uint64_t high = Mix(owner.key ^ 0x6b6579u);
  const uint64_t low = Mix(high);
  AppendHexadecimal(text, high >> 32, 8);
  text += '-';
  AppendHexadecimal(text, high >> 16, 4);
  text += "-4";
  AppendHexadecimal(text, high, 3);
  text += "-a";
  AppendHexadecimal(text, low >> 48, 3);
  text += '-';
  AppendHexadecimal(text, low, 12);
}

}  // namespace reveza::datagen::coherent
