// Where money goes: merchants with their categories, and banks. Constant data, safe from any
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "datagen/lists/slices.h"

namespace reveza::datagen::lists {

enum class Risk : uint8_t { kLow, kMedium, kHigh };  // the categories of mcc_risk_level

struct MerchantCategory {
  std::string_view code;
  std::string_view name;
  Risk risk;
  int64_t least;  // what is usually paid, in whole reais
  int64_t most;
  uint32_t weight;
};
inline constexpr auto kMerchantCategories = std::to_array<MerchantCategory>({
#include "datagen/lists/merchant_categories.inc"
});

struct Merchant {
  std::string_view category;
  std::string_view name;
};
inline constexpr auto kMerchants = std::to_array<Merchant>({
#include "datagen/lists/merchants.inc"
});
// Of each category, where its merchants begin in kMerchants, and how many there are.
inline constexpr auto kMerchantsOfCategory = SlicesOf<kMerchantCategories.size()>(
    kMerchants, [](const Merchant& merchant, std::size_t category) {
      return merchant.category == kMerchantCategories[category].code;
    });

// The same as columns, each value once.
inline constexpr auto kMerchantCategoryCodes =
    MemberOf<std::string_view>(kMerchantCategories, &MerchantCategory::code);
inline constexpr auto kMerchantCategoryNames =
    MemberOf<std::string_view>(kMerchantCategories, &MerchantCategory::name);
inline constexpr auto kMerchantNames = MemberOf<std::string_view>(kMerchants, &Merchant::name);

struct Bank {
  std::string_view code;
  std::string_view name;
  uint32_t weight;
};
inline constexpr auto kBanks = std::to_array<Bank>({
#include "datagen/lists/banks.inc"
});
inline constexpr auto kBankCodes = MemberOf<std::string_view>(kBanks, &Bank::code);
inline constexpr auto kBankNames = MemberOf<std::string_view>(kBanks, &Bank::name);

}  // namespace reveza::datagen::lists
