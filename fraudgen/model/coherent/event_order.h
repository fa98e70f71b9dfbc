// The events of a month, sorted by time in place, at eight bytes an event. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reveza::fraudgen::coherent {

struct Event {
  uint32_t customer = 0;  // in the block; unused for frauds
  uint32_t index = 0;     // of the customer's row in the month, or of the plan
  bool fraud = false;
};

class EventOrder {
 public:
  static constexpr std::size_t kMaxEvents = std::size_t{1} << 22;

  // Allocates memory for exactly `events` events.
  void Reserve(std::size_t events) { keys_.reserve(events); }

  // Starts a month. `begin` must not be later than any event added.
  void Begin(int64_t begin);
  // Attributes the following events to this customer, with indices from 0.
  void BeginCustomer(uint32_t customer) { BeginRun({.first = Next(), .customer = customer}); }
  // Marks the following events as frauds, with indices from `plan`.
  void BeginFrauds(uint32_t plan) {
    BeginRun({.first = Next(), .first_index = plan, .fraud = true});
  }
  void Add(int64_t time);
  // Sorts by time; stable.
  void Sort();

  std::size_t size() const { return keys_.size(); }
  int64_t TimeAt(std::size_t place) const {
    return begin_ + static_cast<int64_t>(keys_[place] >> kNumberBits);
  }
  Event At(std::size_t place) const;
  // Memory in use.
  std::size_t bytes() const {
    return (keys_.capacity() + spare_.capacity()) * sizeof(uint64_t) +
           runs_.capacity() * sizeof(Run) + run_hints_.capacity() * sizeof(uint32_t);
  }

 private:
  static constexpr int kNumberBits = 22;
  static constexpr uint64_t kNumberMask = kMaxEvents - 1;
  // The run of every kStride-th event is stored; that of others is found in a few steps from there.
  static constexpr std::size_t kStride = 32;

  // Consecutively added events that differ in their index only.
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
  std::vector<uint64_t> keys_;       // time since begin, then the sequence number of the event
  std::vector<Run> runs_;            // only the last may be empty; ends with a sentinel once sorted
  std::vector<uint64_t> spare_;      // of the largest bin
  std::vector<uint32_t> run_hints_;  // the run of each kStride-th event
};

}  // namespace reveza::fraudgen::coherent
