// What happens in a month, in order of time: eight bytes an event, sorted in their place. Not safe
// from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

  // Takes the memory for so many of a month at once, and no more.
  void Reserve(std::size_t events) { keys_.reserve(events); }

  // `begin` is not after any of the events that follow.
  void Begin(int64_t begin);
  // The events that follow are this customer's, with indices from 0.
  void BeginCustomer(uint32_t customer) { BeginRun({.first = Next(), .customer = customer}); }
  // The events that follow are frauds, with indices from `plan`.
  void BeginFrauds(uint32_t plan) {
    BeginRun({.first = Next(), .first_index = plan, .fraud = true});
  }
  void Add(int64_t time);
  // Those of equal time stay in the order in which they were added.
  void Sort();

  std::size_t size() const { return keys_.size(); }
  int64_t TimeAt(std::size_t place) const {
    return begin_ + static_cast<int64_t>(keys_[place] >> kNumberBits);
  }
  Event At(std::size_t place) const;
  // What it takes while it has the events that it has.
  std::size_t bytes() const {
    return (keys_.capacity() + spare_.capacity()) * sizeof(uint64_t) +
           runs_.capacity() * sizeof(Run) + nearest_.capacity() * sizeof(uint32_t);
  }

 private:
  static constexpr int kNumberBits = 22;
  static constexpr uint64_t kNumberMask = kMostEvents - 1;
  // Of so many events the first one's run is known; from there it is a few steps.
  static constexpr std::size_t kStride = 32;

  // Events that were added one after the other and differ by their index only.
  struct Run {
    uint32_t first = 0;  // the number of its first event
    uint32_t customer = 0;
    uint32_t first_index = 0;
    bool fraud = false;
  };

  uint32_t Next() const { return static_cast<uint32_t>(keys_.size()); }
  void BeginRun(const Run& run);
  void SortBin(std::span<uint64_t> keys);

  int64_t begin_ = 0;
  std::vector<uint64_t> keys_;     // time since begin, then the number of the event as added
  std::vector<Run> runs_;          // none of them empty but the last; a sentinel once sorted
  std::vector<uint64_t> spare_;    // of the largest bin
  std::vector<uint32_t> nearest_;  // the run of each kStride-th event
};

}  // namespace reveza::datagen::coherent
