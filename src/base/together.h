// Several threads that do one work and end together.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace reveza {

// Calls work(number, count) for each number from 0 to count - 1, each in a thread of its own, 0 in
// the caller's, and returns when all have ended. `count` is `wanted`, or less (1 at least) where
// the system starts no more threads; nothing begins before it is known, so that threads may wait
// for each other. What one of them throws is thrown here once all have ended, the first of several;
// a work that waits for others must not throw.
template <class Work>
void Together(int wanted, const Work& work) {
  std::atomic<int> count = 0;
  std::mutex mutex;
  std::exception_ptr thrown;
  const auto guarded = [&](int number, int all) {
    try {
      work(number, all);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!thrown) thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    int all = std::max(wanted, 1);
    int begun = 1;
    try {
      for (; begun < all; ++begun) {
        others.emplace_back([&, number = begun] {
          count.wait(0);
          guarded(number, count.load());
        });
      }
    } catch (const std::exception&) {
      all = begun;  // a limit on processes or memory: those that there are do it
    }
    count = all;
    count.notify_all();
    guarded(0, all);
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace reveza
