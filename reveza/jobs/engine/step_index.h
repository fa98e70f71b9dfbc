// Finds steps by identity. Takes four bytes a step: a job may have a million. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

class StepIndex {
 public:
  // Indexes the entries; call again when the list has grown.
  void Build(std::span<const StepEntry> entries) {
    order_.resize(entries.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::sort(order_, {}, [&](std::uint32_t step) { return entries[step].identity; });
  }

  // Returns the index of the step in `entries`, which must be those that were indexed.
  std::optional<std::uint32_t> Find(std::span<const StepEntry> entries,
                                    const Identity& identity) const {
    const auto at = std::ranges::lower_bound(
        order_, identity, {}, [&](std::uint32_t step) { return entries[step].identity; });
    if (at == order_.end() || entries[*at].identity != identity) return std::nullopt;
    return *at;
  }

 private:
  std::vector<std::uint32_t> order_;  // indices of the entries, by identity
};

}  // namespace reveza::jobs
