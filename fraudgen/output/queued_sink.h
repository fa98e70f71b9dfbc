// Passes bytes to a slower sink in parts of equal size on a separate thread. Append() blocks while
// all parts are full, so memory is bounded. Content of a single part is passed on by Finish()
// itself.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "fraudgen/output/byte_stream.h"

namespace reveza::fraudgen {

// A pool of upload buffers shared by all files, which bounds their total memory. Thread-safe.
class PartBudget {
 public:
  explicit PartBudget(std::size_t max_parts) : left_(max_parts) {}

  // Waits for a free part and returns an empty buffer, reusing memory if possible. No deadlock:
  // holders send their part without waiting for another.
  std::string Acquire() {
    const MutexLock lock(mutex_);
    while (left_ == 0) changed_.Wait(mutex_);
    --left_;
    if (spare_.empty()) return {};
    std::string part = std::move(spare_.back());
    spare_.pop_back();
    return part;
  }
  void Release(std::string part) {
    part.clear();
    const MutexLock lock(mutex_);
    ++left_;
    // At most as many spare buffers as free parts.
    if (part.capacity() > kInlineCapacity) spare_.push_back(std::move(part));
    changed_.NotifyAll();
  }

 private:
  // Upper bound of the capacity of a string without heap memory.
  static constexpr std::size_t kInlineCapacity = 64;

  Mutex mutex_;
  CondVar changed_;
  std::size_t left_ GUARDED_BY(mutex_);
  std::vector<std::string> spare_ GUARDED_BY(mutex_);
};

// Not thread-safe.
class QueuedSink final : public ByteSink {
 public:
  // Buffers at most `parts` (two or more) parts: one being filled, one being sent, and those
  // queued. All but the first are taken from `budget`, if given, which may be shared.
  QueuedSink(std::unique_ptr<ByteSink> next, std::size_t part_bytes, std::size_t parts,
             std::shared_ptr<PartBudget> budget = nullptr);
  // Waits for the part being sent; drops queued parts.
  ~QueuedSink() override;
  QueuedSink(const QueuedSink&) = delete;
  QueuedSink& operator=(const QueuedSink&) = delete;

  // Returns the error of an earlier part.
  Status Append(std::string_view bytes) override;
  Status Finish() override;

 private:
  Status SendFilling();
  void Loop();
  void DropQueue() REQUIRES(mutex_);

  const std::unique_ptr<ByteSink> next_;
  const std::size_t part_bytes_;
  const std::size_t parts_;
  const std::shared_ptr<PartBudget> budget_;
  std::string filling_;

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::string> queue_ GUARDED_BY(mutex_);
  bool sending_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::optional<Error> error_ GUARDED_BY(mutex_);

  std::thread thread_;  // started with the first full part
};

}  // namespace reveza::fraudgen
