// Which step is next: what waits for others, what is ready, what runs, what is over. Pure: it is
// told, and knows no clock. Thread-safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
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
  // The first `most` of those that are ready, in their order, of those lanes that may.
  using Lanes = std::array<bool, kLanes>;
  std::vector<std::uint32_t> Ready(std::size_t most, Lanes may = {true, true}) const;
  // How many steps of each command are ready or blocked, and of each lane.
  std::span<const std::uint64_t> waiting_by_command() const { return waiting_; }
  std::uint64_t waiting(Lane lane) const {
    return waiting_in_lane_[static_cast<std::size_t>(lane)];
  }

  void Start(std::uint32_t step);  // from ready or held
  void Finish(std::uint32_t step);
  void Fail(std::uint32_t step);
  void Hold(std::uint32_t step);
  // It will have another turn.
  void Requeue(std::uint32_t step);
  // The same for one that failed or is held, and those that were skipped for it wait again.
  void Revive(std::uint32_t step);
  // The job has more steps than before, behind the others.
  void TakeNewSteps();

  State state(std::uint32_t step) const { return states_[step]; }
  const Counts& counts() const { return counts_; }
  // Nothing is ready, and nothing runs that could make something ready.
  bool over() const { return counts_.ready == 0 && counts_.running == 0; }

 private:
  void Add(std::uint32_t step);
  void Move(std::uint32_t step, State to);
  std::uint64_t& Count(State state);
  std::pair<int, std::uint32_t> Key(std::uint32_t step) const;
  Lane LaneOfStep(std::uint32_t step) const;
  void Enter(std::uint32_t step, State state);
  void Leave(std::uint32_t step, State state);

  const Job& job_;
  std::vector<State> states_;
  std::vector<std::uint32_t> missing_;                 // how many of those before are not done
  std::vector<std::vector<std::uint32_t>> followers_;  // empty where no step waits for another
  std::array<std::set<std::pair<int, std::uint32_t>>, kLanes> ready_;  // by -priority, then number
  std::vector<std::uint64_t> waiting_;                                 // by command
  std::array<std::uint64_t, kLanes> waiting_in_lane_{};
  Counts counts_;
};

}  // namespace reveza::runner
