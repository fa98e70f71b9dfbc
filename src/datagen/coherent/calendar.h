// The months of the data set, in which a block is made one after the other, and on which days and
// hours people pay. Immutable, so safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "datagen/coherent/world.h"

namespace reveza::datagen::coherent {

// A month of the calendar, or the part of it that belongs to the data set.
struct Slice {
  uint32_t index = 0;
  int64_t first_day = 0;
  int64_t days = 0;
  uint32_t season = 0;  // how active people are, in hundredths

  int64_t begin() const { return first_day * kDay; }
  int64_t end() const { return (first_day + days) * kDay; }
};

std::vector<Slice> SlicesOf(const World& world);

// How busy a customer is in a slice, as a weight: 0 if there is no account in it.
uint64_t Activity(const Person& person, const Slice& slice);

// The hours in which banks take a TED.
inline constexpr int64_t kBankOpens = 7;
inline constexpr int64_t kBankCloses = 17;

// When somebody pays.
class PaymentTimes {
 public:
  PaymentTimes(const World& world, const Slice& slice);

  // In the slice, while there is an account.
  int64_t Of(const Person& person, uint32_t odd_hour_millionths, Draws& draws) const;

 private:
  const World* world_;
  Slice slice_;
  std::vector<WeightedChoice> days_;  // by profile and payday
};

}  // namespace reveza::datagen::coherent
