#include "datagen/coherent/spending.h"

#include <algorithm>

#include "datagen/coherent/fixed_point.h"

namespace reveza::datagen::coherent {
namespace {

// Thousandths of the income that are spent.
constexpr int64_t kSpentThousandths = 850;
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

int64_t SpendingScale(const World& world, const Person& person, uint64_t rows_a_month) {
  const int64_t wanted = world.parameters().HabitsOf(person.profile).mean_amount *
                         static_cast<int64_t>(std::max<uint64_t>(rows_a_month, 16)) / 16;
  return std::clamp(person.income * kSpentThousandths / 1'000 * kOne / wanted, kOne / 4, 3 * kOne);
}

int64_t PersonsMedian(const ProfileHabits& habits) {
  return static_cast<int64_t>(
      SquareRoot(static_cast<uint64_t>(habits.least_amount * habits.most_amount)));
}

int64_t PersonsAmount(int64_t median, Draws& draws) {
  const int64_t amount = LogNormal(draws.Bits(), median, kDeviation);
  return RoundSum(amount, draws.Bits());
}

}  // namespace reveza::datagen::coherent
