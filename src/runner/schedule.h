// Which step is next: what waits for others, what is ready, what runs, what is over. Pure: it is
// told, and knows no clock. Thread-safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runner/job.h"

namespace reveza::runner {

class Schedule {
 public:
  enum class State : std::uint8_t {
    kBlocked,  // steps that must come before are not done
    kReady,
    kRunning,
    kDone,
    kFailed,
    kHeld,     // nobody knows whether it ran: somebody has to decide
    kSkipped,  // a step before it failed, so it never has its turn
  };
  struct Counts {
    std::uint64_t blocked = 0, ready = 0, running = 0, done = 0, failed = 0, held = 0, skipped = 0;
  };

  // All ready or blocked. The job must outlive it, and have no circle.
  explicit Schedule(const Job& job);

  // The ready step that goes first: larger priority, then smaller number.
  std::optional<std::uint32_t> Next() const;
  // The first `most` of those that are ready, in their order.
  std::vector<std::uint32_t> Ready(std::size_t most) const;

  void Start(std::uint32_t step);  // from ready or held
  void Finish(std::uint32_t step);
  void Fail(std::uint32_t step);
  void Hold(std::uint32_t step);
  // It will have another turn.
  void Requeue(std::uint32_t step);

  State state(std::uint32_t step) const { return states_[step]; }
  const Counts& counts() const { return counts_; }
  // Nothing is ready, and nothing runs that could make something ready.
  bool over() const { return counts_.ready == 0 && counts_.running == 0; }

 private:
  void Move(std::uint32_t step, State to);
  std::uint64_t& Count(State state);
  std::pair<int, std::uint32_t> Key(std::uint32_t step) const;

  const Job& job_;
  std::vector<State> states_;
  std::vector<std::uint32_t> missing_;                 // how many of those before are not done
  std::vector<std::vector<std::uint32_t>> followers_;  // empty where no step waits for another
  std::set<std::pair<int, std::uint32_t>> ready_;      // by -priority, then number
  Counts counts_;
};

}  // namespace reveza::runner
