// The same work for each index, by several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "base/together.h"

namespace reveza::phi {

// Calls make() once in each thread, and what it gives with each index from 0 to count-1, in an
// order that nobody knows: what is computed for an index must depend on nothing else.
template <typename Make>
void ParallelFor(int threads, std::size_t count, const Make& make) {
  std::atomic<std::size_t> next = 0;
  const std::size_t wanted = std::min(static_cast<std::size_t>(std::max(threads, 1)), count);
  Together(static_cast<int>(wanted), [&](int, int) {
    auto compute = make();
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) compute(i);
  });
}

}  // namespace reveza::phi
