#include "fraudgen/model/coherent/identity.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

namespace reveza::fraudgen::coherent {
namespace identity_test {

// Enough for independently drawn numbers to collide.
constexpr uint64_t kMany = 150'000;

Parameters Big() {
  Parameters parameters;
  parameters.rows = 1'000'000;
  parameters.customers = kMany;
  return parameters;
}

template <typename Put>
std::string TextOf(Put put) {
  std::array<char, Identity::kMaxText> text{};
  return {text.data(), static_cast<std::size_t>(put(text.data()) - text.data())};
}

TEST(Identity, ShopKeysAreUnique) {
  const World world(Big());
  const Identity identity(world);
  std::set<std::string> keys;
  uint64_t companies = 0;
  for (uint64_t i = 0; i < kMany; ++i) {
    const Owner owner = identity.OwnerOfShop(static_cast<MerchantNumber>(i * 7));
    companies += owner.key_type == KeyType::kCnpj ? 1 : 0;
    const std::string key = TextOf([&](char* out) { return identity.PutPixKey(out, owner); });
    ASSERT_TRUE(keys.insert(key).second) << key << " is not unique";
  }
  EXPECT_GT(companies, kMany / 2);
}

TEST(Identity, PhonesEmailsAndCpfsAreUnique) {
  const World world(Big());
  const Identity identity(world);
  for (const auto put : {&Identity::PutPhone, &Identity::PutEmail, &Identity::PutCpf}) {
    std::set<std::string> texts;
    for (uint64_t number = 0; number < kMany; ++number) {
      const Owner owner = identity.OwnerOf(world.PersonOf(number), world.begin() - 1);
      const std::string text = TextOf([&](char* out) { return (identity.*put)(out, owner); });
      // Without country and area code, the number itself is unique.
      const bool phone = text.starts_with('+');
      ASSERT_TRUE(texts.insert(phone ? text.substr(5) : text).second) << text;
    }
  }
}

}  // namespace identity_test
}  // namespace reveza::fraudgen::coherent
