// Runs a function in several threads and waits for all of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "common/base/mutex.h"

namespace reveza {

// Calls work(index, count) for each index from 0 to count - 1, each in a thread of its own (index 0
// in the caller's), and returns when all have returned. `count` is `wanted`, or less (at least 1)
// if the system cannot start more threads. It is fixed before any call, so calls may wait for each
// other. Rethrows the first exception after all calls have returned; calls that wait for others
// must not throw.
template <class Work>
void RunInParallel(int wanted, const Work& work) {
  std::atomic<int> count = 0;
  Mutex mutex;
  std::exception_ptr exception;
  const auto guarded = [&](int index, int all) {
    try {
      work(index, all);
    } catch (...) {
      const MutexLock lock(mutex);
      if (!exception) exception = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    int all = std::max(wanted, 1);
    int started = 1;
    try {
      for (; started < all; ++started) {
        others.emplace_back([&, index = started] {
          count.wait(0);
          guarded(index, count.load());
        });
      }
    } catch (const std::exception&) {
      all = started;  // limit on threads or memory reached
    }
    count = all;
    count.notify_all();
    guarded(0, all);
  }
  if (exception) std::rethrow_exception(exception);
}

}  // namespace reveza
