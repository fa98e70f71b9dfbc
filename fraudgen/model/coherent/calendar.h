// The months of the data set, which are simulated in turn, and the days and hours of payments.
// Immutable and thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fraudgen/model/coherent/world.h"

namespace reveza::fraudgen::coherent {

// A calendar month, clipped to the period of the data set.
struct Slice {
  uint32_t index = 0;
  int64_t first_day = 0;
  int64_t days = 0;
  uint32_t season = 0;  // activity in percent

  int64_t begin() const { return first_day * kDay; }
  int64_t end() const { return (first_day + days) * kDay; }
};

std::vector<Slice> SlicesOf(const World& world);

// Returns a customer's activity in a slice as a weight; 0 without an open account.
uint64_t Activity(const Person& person, const Slice& slice);

// Hours between which banks accept a TED.
inline constexpr int64_t kBankOpens = 7;
inline constexpr int64_t kBankCloses = 17;
// Returns whether it is such an hour of a working day.
bool IsBankingTime(int64_t time);

// Draws the times of payments.
class PaymentTimes {
 public:
  PaymentTimes(const World& world, const Slice& slice);

  // Returns a time within the slice at which the account is open.
  int64_t Of(const Person& person, uint32_t odd_hour_millionths, Draws& draws) const;

 private:
  const World* world_;
  Slice slice_;
  std::vector<WeightedChoice> days_;  // by profile and payday
};

}  // namespace reveza::fraudgen::coherent
