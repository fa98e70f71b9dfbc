// The six ways in which customers behave. Constant data, safe from any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "datagen/lists/commerce.h"
#include "datagen/lists/devices.h"

namespace reveza::datagen::lists {

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
  uint32_t weight;  // how many of a hundred customers have it
  int32_t least_age;
  int32_t most_age;
  int64_t least_income_percent;  // the factor of the income
  int64_t most_income_percent;
  std::array<uint32_t, 9> transaction_types;  // weights of the categories of transactions.type
  std::span<const CategoryWeight> merchant_categories;
  std::array<uint32_t, 5> channels;  // weights of the categories of transactions.channel
  int64_t least_amount;              // of one transaction, in whole reais
  int64_t most_amount;
  int32_t least_monthly_transactions;
  int32_t most_monthly_transactions;
  int32_t weekend_percent;              // activity of a weekend day, a weekday's being 100
  int32_t susceptibility_percent;       // how readily fraud succeeds, the average being 100
  uint32_t preferred_hours;             // bit 0 is the hour from midnight
  std::span<const DeviceKind> devices;  // what is preferred, what a customer has first comes first
  int32_t least_devices;
  int32_t most_devices;
};

// In the order of ProfileKind, which is that of the categories of behavioral_profile.
std::span<const Profile> Profiles();

}  // namespace reveza::datagen::lists
