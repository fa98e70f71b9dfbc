// How many cycles of a job are done, for progress and remaining time. Pure values; not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace reveza::jobs {

class CycleProgress {
 public:
  // Sets the cycles of a step. Steps without cycles are not added.
  void Set(std::uint32_t step, std::uint64_t done, std::uint64_t all) {
    if (step >= steps_.size()) steps_.resize(step + 1);
    Entry& entry = steps_[step];
    done_ -= entry.done;
    all_ -= entry.all;
    entry = {std::min(done, all), all};
    done_ += entry.done;
    all_ += entry.all;
  }
  // Counts a cycle that was recorded for the first time.
  void Add(std::uint32_t step) {
    if (step < steps_.size()) Set(step, steps_[step].done + 1, steps_[step].all);
  }
  // Marks all cycles of a step as done, whatever it reported.
  void Finish(std::uint32_t step) {
    if (step < steps_.size()) Set(step, steps_[step].all, steps_[step].all);
  }

  std::uint64_t done() const { return done_; }
  std::uint64_t all() const { return all_; }  // 0: the job has no cycles
  // Returns the remaining cycles of a step.
  std::uint64_t LeftOf(std::uint32_t step) const {
    return step < steps_.size() ? steps_[step].all - steps_[step].done : 0;
  }

 private:
  struct Entry {
    std::uint64_t done = 0;
    std::uint64_t all = 0;
  };
  std::vector<Entry> steps_;
  std::uint64_t done_ = 0;
  std::uint64_t all_ = 0;
};

}  // namespace reveza::jobs
