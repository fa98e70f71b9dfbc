// A bounded task queue with its own threads. Files are finished (synced, uploaded) on it while the
// worker threads make the next ones. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "common/base/error.h"
#include "common/base/mutex.h"

namespace reveza::fraudgen {

class Finisher {
 public:
  using Work = std::move_only_function<Status()>;

  struct Limits {
    std::size_t threads = 1;
    // Of tasks submitted and not yet completed.
    std::size_t max_tasks = 1;
    uint64_t max_bytes = UINT64_MAX;
  };

  explicit Finisher(const Limits& limits);
  // Completes the submitted tasks, unless one failed.
  ~Finisher();
  Finisher(const Finisher&) = delete;
  Finisher& operator=(const Finisher&) = delete;

  // Queues a task that holds `bytes` of memory; blocks until the limits allow it. A task above the
  // limits runs alone. Returns the error of an earlier task, after which no other starts.
  Status Submit(uint64_t bytes, Work work);
  // Waits for all tasks and returns the first error. Called once, after the last Submit().
  Status Drain();

 private:
  struct Task {
    uint64_t bytes;
    Work work;
  };

  void Loop();
  // Returns nullopt once the queue is closed and empty.
  std::optional<Task> Next();
  bool HasRoomFor(uint64_t bytes) const REQUIRES(mutex_);
  void Close();

  const Limits limits_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Task> queue_ GUARDED_BY(mutex_);
  std::size_t tasks_ GUARDED_BY(mutex_) = 0;  // queued and running
  uint64_t bytes_ GUARDED_BY(mutex_) = 0;
  std::optional<Error> error_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;  // last: they use the other members
};

}  // namespace reveza::fraudgen
