// Frequencies of categories, in the order of the schema's categories. The weights are those of the
// original data set. Constant data.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen::lists {

inline constexpr std::array<uint32_t, 9> kTransactionTypeWeights = {42, 22, 13, 7, 5, 4, 3, 3, 1};
inline constexpr std::array<uint32_t, 5> kChannelWeights = {60, 25, 8, 5, 2};

inline constexpr std::array<uint32_t, 5> kPixKeyTypeWeights = {35, 30, 20, 10, 5};
inline constexpr std::array<uint32_t, 5> kCardBrandWeights = {40, 40, 15, 3, 2};
inline constexpr std::array<uint32_t, 4> kCardEntryWeights = {40, 35, 20, 5};
inline constexpr std::array<int64_t, 8> kInstallments = {1, 2, 3, 4, 5, 6, 10, 12};
inline constexpr std::array<uint32_t, 8> kInstallmentWeights = {50, 10, 10, 5, 5, 10, 5, 5};
inline constexpr std::array<uint32_t, 4> kHonestStatusWeights = {96, 3, 1, 0};
inline constexpr std::array<uint32_t, 4> kFraudStatusWeights = {60, 25, 10, 5};

inline constexpr std::array<uint32_t, 13> kFraudTypeWeights = {20, 15, 14, 10, 8, 8, 6,
                                                               5,  4,  3,  3,  2, 2};

// By hour of the day.
inline constexpr std::array<uint32_t, 24> kTransactionHourWeights = {
    2, 1, 1, 1, 1, 2, 4, 6, 10, 12, 14, 14, 15, 14, 13, 12, 12, 13, 14, 15, 14, 12, 8, 4};
inline constexpr std::array<uint32_t, 24> kRideHourWeights = {
    3, 2, 1, 1, 1, 2, 5, 8, 12, 10, 8, 8, 10, 8, 7, 7, 8, 12, 14, 12, 10, 8, 8, 5};

// Monthly income in whole reais, uniform within a bracket, before the profile's factor.
inline constexpr std::array<Range<int64_t>, 4> kIncomeBrackets = {
    {{1500, 3000}, {3000, 7000}, {7000, 15000}, {15000, 50000}}};
inline constexpr std::array<uint32_t, 4> kIncomeBracketWeights = {40, 35, 18, 7};

// First octets of Brazilian IP addresses.
inline constexpr std::array<uint8_t, 15> kIpFirstNumbers = {177, 187, 189, 191, 200, 201, 179, 186,
                                                            188, 190, 170, 138, 143, 152, 168};

// Returns the `weight` member of each row.
template <typename Rows>
std::vector<uint32_t> WeightsOf(const Rows& rows) {
  std::vector<uint32_t> weights;
  for (const auto& row : rows) weights.push_back(row.weight);
  return weights;
}
template <typename Rows>
WeightedChoice ChoiceOfRows(const Rows& rows) {
  return WeightedChoice(WeightsOf(rows));
}

}  // namespace reveza::fraudgen::lists
