#include "fraudgen/model/coherent/event_order.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace reveza::fraudgen::coherent {
namespace {

constexpr int kBinShift = 64 - 11;
constexpr std::size_t kBins = std::size_t{1} << 11;

// Insertion sort, for few or almost sorted keys.
void SortFew(std::span<uint64_t> keys) {
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const uint64_t key = keys[i];
    std::size_t place = i;
    for (; place > 0 && keys[place - 1] > key; --place) keys[place] = keys[place - 1];
    keys[place] = key;
  }
}

}  // namespace

void EventOrder::Begin(int64_t begin) {
  begin_ = begin;
  keys_.clear();
  runs_.clear();
  run_hints_.clear();
}

void EventOrder::BeginRun(const Run& run) {
  // Drop empty runs, so that lookups take few steps.
  if (!runs_.empty() && runs_.back().first == run.first) runs_.pop_back();
  runs_.push_back(run);
}

void EventOrder::Add(int64_t time) {
  assert(time >= begin_ && keys_.size() < kMaxEvents && !runs_.empty());
  if (keys_.size() % kStride == 0) run_hints_.push_back(static_cast<uint32_t>(runs_.size() - 1));
  keys_.push_back(static_cast<uint64_t>(time - begin_) << kNumberBits | keys_.size());
}

// Keys are unique, so the sort need not be stable. Permutes them in place into bins of half an
// hour, then sorts each bin.
void EventOrder::Sort() {
  std::array<uint32_t, kBins + 1> ends{};
  for (const uint64_t key : keys_) ++ends[(key >> kBinShift) + 1];
  for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
  std::array<uint32_t, kBins> next{};  // the first unplaced position in each bin
  std::ranges::copy_n(ends.begin(), next.size(), next.begin());
  for (std::size_t bin = 0; bin < next.size(); ++bin) {
    while (next[bin] < ends[bin + 1]) {
      uint64_t key = keys_[next[bin]];
      while (key >> kBinShift != bin) std::swap(key, keys_[next[key >> kBinShift]++]);
      keys_[next[bin]++] = key;
    }
    SortBin(std::span(keys_).subspan(ends[bin], ends[bin + 1] - ends[bin]));
  }
  runs_.push_back({.first = Next()});
}

// Distributes the keys to bins of a quarter of a minute through a second array. With about one key
// per bin little sorting remains, and few branches are unpredictable.
void EventOrder::SortBin(std::span<uint64_t> keys) {
  constexpr std::size_t kFew = 24;
  if (keys.size() <= kFew) return SortFew(keys);
  constexpr int kShift = kBinShift - 7;
  constexpr std::size_t kParts = 128;
  std::array<uint32_t, kParts + 1> places{};
  for (const uint64_t key : keys) ++places[(key >> kShift) % kParts + 1];
  // Many events at almost the same time.
  if (std::ranges::max(places) > kFew) {
    std::ranges::sort(keys);
    return;
  }
  for (std::size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
  spare_.resize(std::max(spare_.size(), keys.size()));
  for (const uint64_t key : keys) spare_[places[(key >> kShift) % kParts]++] = key;
  std::ranges::copy_n(spare_.begin(), std::ssize(keys), keys.begin());
  SortFew(keys);
}

Event EventOrder::At(std::size_t place) const {
  const auto number = static_cast<uint32_t>(keys_[place] & kNumberMask);
  const Run* run = &runs_[run_hints_[number / kStride]];
  while (run[1].first <= number) ++run;
  return {.customer = run->customer,
          .index = run->first_index + (number - run->first),
          .fraud = run->fraud};
}

}  // namespace reveza::fraudgen::coherent
