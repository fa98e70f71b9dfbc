// How far an analysis is, in items that are done by several threads.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

namespace reveza::phi {

// Called by one thread at a time, if set: "mechanism", "cut" or "system", how many of them are
// done, and how many there are.
using AnalysisProgress =
    std::function<void(std::string_view items, std::size_t done, std::size_t all)>;

// Counts items. Thread-safe.
class CountedItems {
 public:
  CountedItems(const AnalysisProgress& progress, std::string_view items, std::size_t all)
      : progress_(progress), items_(items), all_(all) {}

  void Done() {
    if (!progress_) return;
    const std::lock_guard lock(mutex_);
    progress_(items_, ++done_, all_);
  }

 private:
  const AnalysisProgress& progress_;
  std::string_view items_;
  std::size_t all_;
  std::mutex mutex_;
  std::size_t done_ = 0;
};

}  // namespace reveza::phi
