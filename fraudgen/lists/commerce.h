// Merchants with their categories, and banks. Constant data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fraudgen/lists/slices.h"

namespace reveza::fraudgen::lists {

enum class Risk : uint8_t { kLow, kMedium, kHigh };  // the categories of mcc_risk_level

struct MerchantCategory {
  std::string_view code;
  std::string_view name;
  Risk risk;
  int64_t min_amount;  // typical purchase, in whole reais
  int64_t max_amount;
  uint32_t weight;
};
inline constexpr auto kMerchantCategories = std::to_array<MerchantCategory>({
#include "generated/fraudgen/lists/merchant_categories.inc"
});

// Returns the index of a merchant category.
consteval uint32_t CategoryWithCode(std::string_view code) {
  for (uint32_t i = 0; i < kMerchantCategories.size(); ++i) {
    if (kMerchantCategories[i].code == code) return i;
  }
  throw "no such merchant category";
}
// Returns the indexes of several.
consteval auto CategoriesWithCodes(auto... codes) { return std::array{CategoryWithCode(codes)...}; }

struct Merchant {
  std::string_view category;
  std::string_view name;
};
inline constexpr auto kMerchants = std::to_array<Merchant>({
#include "generated/fraudgen/lists/merchants.inc"
});
// The slice of kMerchants of each category.
inline constexpr auto kMerchantsOfCategory = SlicesOf<kMerchantCategories.size()>(
    kMerchants, [](const Merchant& merchant, std::size_t category) {
      return merchant.category == kMerchantCategories[category].code;
    });

// The distinct values of each column.
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
#include "generated/fraudgen/lists/banks.inc"
});
inline constexpr auto kBankCodes = MemberOf<std::string_view>(kBanks, &Bank::code);
inline constexpr auto kBankNames = MemberOf<std::string_view>(kBanks, &Bank::name);

}  // namespace reveza::fraudgen::lists
