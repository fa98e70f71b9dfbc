// The states of all steps of a job and the order in which ready ones start. Pure; no clock. Not
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "reveza/jobs/definition/job.h"

namespace reveza::jobs {

class Schedule {
 public:
  enum class State : std::uint8_t {
    kBlocked,  // dependencies are not done
    kReady,
    kRunning,
    kDone,
    kFailed,
    kHeld,     // outcome unknown: the user has to decide
    kSkipped,  // a dependency failed
  };
  struct Counts {
    std::uint64_t blocked = 0, ready = 0, running = 0, done = 0, failed = 0, held = 0, skipped = 0;
  };

  // All steps are ready or blocked at first. `job` must outlive the schedule and be acyclic.
  explicit Schedule(const Job& job);

  // Returns the first `max` ready steps of the given lanes: by descending priority, then ascending
  // number.
  using Lanes = std::array<bool, kLanes>;
  std::vector<std::uint32_t> Ready(std::size_t max, Lanes lanes = {true, true}) const;
  // Returns how many steps are ready or blocked, by command or in a lane.
  std::span<const std::uint64_t> waiting_by_command() const { return waiting_; }
  std::uint64_t waiting(Lane lane) const {
    return waiting_in_lane_[static_cast<std::size_t>(lane)];
  }

  void Start(std::uint32_t step);  // from ready or held
  void Finish(std::uint32_t step);
  void Fail(std::uint32_t step);
  void Hold(std::uint32_t step);
  // Queues a running step again.
  void Requeue(std::uint32_t step);
  // Queues a failed or held step again, and unblocks the steps that were skipped because of it.
  void Revive(std::uint32_t step);
  // Picks up steps appended to the job.
  void AddNewSteps();

  State state(std::uint32_t step) const { return states_[step]; }
  const Counts& counts() const { return counts_; }
  // Returns whether nothing is ready or running, so that nothing can become ready.
  bool finished() const { return counts_.ready == 0 && counts_.running == 0; }

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
  std::vector<std::uint32_t> unmet_;                    // number of dependencies that are not done
  std::vector<std::vector<std::uint32_t>> dependents_;  // empty without dependencies
  std::array<std::set<std::pair<int, std::uint32_t>>, kLanes> ready_;  // by -priority, then number
  std::vector<std::uint64_t> waiting_;                                 // by command
  std::array<std::uint64_t, kLanes> waiting_in_lane_{};
  Counts counts_;
};

}  // namespace reveza::jobs
