// What happens in a month, in order of time: 16 bytes an event, sorted by its digits. Not safe from
// several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "datagen/coherent/prefetch.h"

namespace reveza::datagen::coherent {

struct Event {
  uint32_t customer = 0;  // in the block; of a fraud: not used
  uint32_t index = 0;     // of the customer's row in the month, or of the plan
  bool fraud = false;
};

class EventOrder {
 public:
  // At most so many events.
  static constexpr std::size_t kMostEvents = std::size_t{1} << 22;

  // `begin` is not after any of the events that follow.
  void Begin(int64_t begin);
  void Add(int64_t time, Event event);
  // Those of equal time stay in the order in which they were added.
  void Sort();

  std::size_t size() const { return keys_.size(); }
  int64_t TimeAt(std::size_t place) const {
    return begin_ + static_cast<int64_t>(keys_[place] >> kIndexBits);
  }
  void Prefetch(std::size_t place) const { PrefetchLine(&events_[keys_[place] & kIndexMask]); }
  const Event& At(std::size_t place) const { return events_[keys_[place] & kIndexMask]; }

 private:
  static constexpr int kIndexBits = 22;
  static constexpr uint64_t kIndexMask = kMostEvents - 1;

  int64_t begin_ = 0;
  std::vector<uint64_t> keys_;  // time since begin, then the index into events_
  std::vector<uint64_t> spare_;
  std::vector<Event> events_;
};

}  // namespace reveza::datagen::coherent
