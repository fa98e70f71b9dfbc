#include "datagen/coherent/event_order.h"

#include <array>
#include <cassert>

namespace reveza::datagen::coherent {

void EventOrder::Begin(int64_t begin) {
  begin_ = begin;
  keys_.clear();
  events_.clear();
}

void EventOrder::Add(int64_t time, Event event) {
  assert(time >= begin_ && events_.size() < kMostEvents);
  keys_.push_back(static_cast<uint64_t>(time - begin_) << kIndexBits | events_.size());
  events_.push_back(event);
}

// Radix sort, eleven bits a pass. The index needs none: passes keep the order of equal ones.
void EventOrder::Sort() {
  constexpr int kDigitBits = 11;
  spare_.resize(keys_.size());
  for (int shift = kIndexBits; shift < 64; shift += kDigitBits) {
    std::array<uint32_t, (std::size_t{1} << kDigitBits) + 1> places{};
    constexpr uint64_t kDigit = (uint64_t{1} << kDigitBits) - 1;
    for (const uint64_t key : keys_) ++places[(key >> shift & kDigit) + 1];
    for (std::size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
    for (const uint64_t key : keys_) spare_[places[key >> shift & kDigit]++] = key;
    keys_.swap(spare_);
  }
}

}  // namespace reveza::datagen::coherent
