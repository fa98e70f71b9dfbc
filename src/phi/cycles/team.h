// Threads that do the stages of one work together: each does its part, then all wait for the last.
// Thread-safety: each member is used by its own thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace reveza::phi {

// Waits by looking, for the stages last microseconds; then lets others run.
class StageBarrier {
 public:
  // Until as many as `members` wait.
  void Wait(int members);

 private:
  std::atomic<int> arrived_ = 0;
  std::atomic<std::uint32_t> stage_ = 0;
};

struct Part {
  int first;
  int last;
};

// One of the threads.
class TeamMember {
 public:
  TeamMember(StageBarrier& barrier, int number, int members)
      : barrier_(barrier), number_(number), members_(members) {}

  // This member's share of `count` equal pieces.
  Part Share(int count) const {
    return {static_cast<int>(std::int64_t{count} * number_ / members_),
            static_cast<int>(std::int64_t{count} * (number_ + 1) / members_)};
  }
  void Wait() const {
    if (members_ > 1) barrier_.Wait(members_);
  }

 private:
  StageBarrier& barrier_;
  int number_;
  int members_;
};

}  // namespace reveza::phi
