// Who lives in which state, so that what people do can be put on a map. Not safe from several
// threads.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "datagen/batch.h"
#include "datagen/lists/places.h"
#include "datagen/report/counts.h"

namespace reveza::datagen::report {

class People {
 public:
  // Of more customers only a sample of so many is kept, about 40 bytes each.
  static constexpr uint64_t kMostKept = 2'000'000;

  // `customers`: how many there will be.
  explicit People(uint64_t customers) : one_of_((customers + kMostKept - 1) / kMostKept) {}

  void LookAtCustomers(const Batch& customers);
  // What somebody did.
  void Count(std::string_view customer_id, bool is_fraud) {
    if (const State* state = StateOf(customer_id)) events_[*state].Add(is_fraud);
  }

  // By the index into lists::kStates.
  const std::array<uint64_t, lists::kStates.size()>& customers() const { return customers_; }
  const std::array<Pair, lists::kStates.size()>& events() const { return events_; }
  // Whether the events are those of a sample of the customers.
  bool sampled() const { return one_of_ > 1; }

 private:
  using State = uint8_t;
  const State* StateOf(std::string_view customer_id) const;

  uint64_t one_of_;
  std::unordered_map<uint64_t, State> states_;
  std::array<uint64_t, lists::kStates.size()> customers_{};
  std::array<Pair, lists::kStates.size()> events_{};
};

}  // namespace reveza::datagen::report
