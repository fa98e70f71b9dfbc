// A parallel loop over indices.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "common/base/run_in_parallel.h"

namespace reveza::phi {

// Calls make() once per thread, and the function it returns with each index in [0, count), in
// unspecified order. The result for an index must not depend on other indices.
template <typename Make>
void ParallelFor(int threads, std::size_t count, const Make& make) {
  std::atomic<std::size_t> next = 0;
  const std::size_t wanted = std::min(static_cast<std::size_t>(std::max(threads, 1)), count);
  RunInParallel(static_cast<int>(wanted), [&](int, int) {
    auto compute = make();
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) compute(i);
  });
}

}  // namespace reveza::phi
