// Whether values occur as often as the model's weights say: chi-square for categories, Kolmogorov
// and Smirnov for numbers. Not safe from several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datagen/check/table_check.h"
#include "datagen/coherent/parameters.h"

namespace reveza::datagen::check {

// A finding is what chance would do once in a million sound data sets. Fewer would be too strict
// for the some forty tests of each; and what is wrong is far beyond, for the rows are many.
inline constexpr double kLeastChance = 1e-6;
// Of numbers so many are kept, the first ones; a sample is enough, and in bounded memory.
inline constexpr std::size_t kSample = 100'000;

// The profile of each customer of the classic model, by the number in its identifier: what many
// weights depend on. A byte for each.
class Profiles {
 public:
  static constexpr uint8_t kNone = 6;
  static constexpr uint8_t kUnknown = 7;

  void Add(const Batch& customers);
  uint8_t Of(std::string_view customer_id) const;

 private:
  std::vector<uint8_t> profiles_;
};

// Categories. `group` says whose weights a row's value should have, or nothing for rows that do not
// matter; `value` the index of the weight.
struct ShareTest {
  std::string_view table;
  std::string name;
  std::vector<std::string_view> columns;
  std::vector<std::vector<uint32_t>> weights;  // of each group
  std::function<std::optional<std::size_t>(std::span<const Field>, std::size_t row,
                                           const Profiles&)>
      group;
  std::function<std::optional<std::size_t>(std::span<const Field>, std::size_t row)> value;
};

// Numbers: `share` is the distribution function at the row's value, uniform from 0 to 1 if all is
// well; nothing for rows that do not matter.
struct CurveTest {
  std::string_view table;
  std::string name;
  std::vector<std::string_view> columns;
  // Beyond 0 and 1 for what the distribution cannot have.
  std::function<std::optional<double>(std::span<const Field>, std::size_t row, const Profiles&)>
      share;
};

std::vector<ShareTest> ClassicShares();
std::vector<CurveTest> ClassicCurves();
std::vector<ShareTest> CoherentShares(const coherent::Parameters& parameters);

// `by_profile`: whether some ask for the profile of a customer, which takes memory.
std::unique_ptr<TableCheck> CheckShares(std::vector<ShareTest> shares,
                                        std::vector<CurveTest> curves, bool by_profile);

}  // namespace reveza::datagen::check
