// The six behavioural profiles of customers. Constant data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fraudgen/lists/commerce.h"
#include "fraudgen/lists/devices.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen::lists {

enum class ProfileKind : uint8_t {
  kYoungDigital,
  kTraditionalSenior,
  kBusinessOwner,
  kHighSpender,
  kSubscriptionHeavy,
  kFamilyProvider,
};

// An index into kMerchantCategories.
struct CategoryWeight {
  uint8_t category;
  uint32_t weight;
};

struct Profile {
  std::string_view name;
  uint32_t weight;  // percent of the customers
  Range<int64_t> age;
  Range<int64_t> income_percent;              // factor applied to the income bracket
  std::array<uint32_t, 9> transaction_types;  // weights, in the order of transactions.type
  std::array<uint32_t, 5> channels;           // weights, in the order of transactions.channel
  Range<int64_t> amount;                      // of one transaction, in whole reais
  Range<int64_t> monthly_transactions;
  int32_t weekend_percent;         // activity on a weekend day; a weekday is 100
  int32_t susceptibility_percent;  // susceptibility to fraud; the average is 100
  uint32_t preferred_hours;        // bit mask; bit 0 is 00:00 to 01:00
  Range<int64_t> device_count;
  std::span<const CategoryWeight> merchant_categories = {};
  std::span<const DeviceKind> devices = {};  // preferred kinds, the first device's kind first
};

// Returns the profiles in the order of ProfileKind, which is that of behavioral_profile's
// categories.
std::span<const Profile> Profiles();

}  // namespace reveza::fraudgen::lists
