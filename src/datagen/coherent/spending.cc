#include "datagen/coherent/spending.h"

#include <algorithm>
#include <array>

#include "datagen/coherent/fixed_point.h"
#include "datagen/lists/profiles.h"

namespace reveza::datagen::coherent {
namespace {

// Thousandths of the income that are spent, and what a row costs on average, in cents.
constexpr int64_t kSpentThousandths = 850;
constexpr std::array<int64_t, kProfiles> kMeanAmount = {9'000,   22'000, 90'000,
                                                        150'000, 9'000,  26'000};
constexpr int64_t kDeviation = 85'000;

// Who pays a person pays round sums.
int64_t RoundSum(int64_t amount, uint64_t bits) {
  amount = std::max<int64_t>(amount, 200);
  if (bits % 100 < 30 && amount > 5'000) return amount - amount % 5'000;
  if (bits % 100 < 55 && amount > 1'000) return amount - amount % 1'000;
  if (bits % 100 < 70 && amount > 500) return amount - amount % 500;
  return amount;
}

}  // namespace

int64_t SpendingScale(const Person& person, uint64_t rows_a_month) {
  const int64_t wanted = kMeanAmount[static_cast<std::size_t>(person.profile)] *
                         static_cast<int64_t>(std::max<uint64_t>(rows_a_month, 16)) / 16;
  return std::clamp(person.income * kSpentThousandths / 1'000 * kOne / wanted, kOne / 4, 3 * kOne);
}

int64_t PersonsMedian(Profile profile) {
  const lists::Profile& habits = lists::Profiles()[static_cast<std::size_t>(profile)];
  const auto low = static_cast<uint64_t>(habits.least_amount);
  const auto high = static_cast<uint64_t>(habits.most_amount);
  return static_cast<int64_t>(SquareRoot(low * high * 10'000));
}

int64_t PersonsAmount(int64_t median, Draws& draws) {
  const int64_t amount = LogNormal(draws.Bits(), median, kDeviation);
  return RoundSum(amount, draws.Bits());
}

}  // namespace reveza::datagen::coherent
