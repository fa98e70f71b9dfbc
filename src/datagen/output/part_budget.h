// How many parts of files may wait or be on their way at a time, of all files together: memory that
// does not grow with the number of files, and is used again. Safe from several threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace reveza::datagen {

class PartBudget {
 public:
  explicit PartBudget(std::size_t most) : left_(most) {}

  // Waits until there is one. Who takes one sends it without waiting for others, so there will be.
  // What it returns is empty, with the memory of a part that was given back, if there is one.
  std::string Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return left_ > 0; });
    --left_;
    if (spare_.empty()) return {};
    std::string part = std::move(spare_.back());
    spare_.pop_back();
    return part;
  }
  void Give(std::string part) {
    part.clear();
    const std::scoped_lock lock(mutex_);
    ++left_;
    // Never more than are left: with those that are taken they are as many as there may be.
    if (part.capacity() > kSmall) spare_.push_back(std::move(part));
    changed_.notify_all();
  }

 private:
  // What a string has without memory of its own.
  static constexpr std::size_t kSmall = 64;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t left_;
  std::vector<std::string> spare_;
};

}  // namespace reveza::datagen
