#include "reveza/jobs/engine/schedule.h"

#include <algorithm>

namespace reveza::jobs {

Schedule::Schedule(const Job& job) : job_(job) { AddNewSteps(); }

void Schedule::AddNewSteps() {
  const auto first = static_cast<std::uint32_t>(states_.size());
  const auto count = static_cast<std::uint32_t>(job_.steps.size());
  const bool chained = std::any_of(job_.steps.begin() + first, job_.steps.end(),
                                   [](const Step& step) { return !step.after.empty(); });
  states_.resize(count, State::kReady);
  waiting_.resize(job_.commands.size(), 0);
  unmet_.resize(count, 0);
  if (chained || !dependents_.empty()) dependents_.resize(count);
  for (auto& by_priority : ready_) {
    for (auto& [priority, set] : by_priority) set.Resize(count);
  }
  for (std::uint32_t step = first; step < count; ++step) Add(step);
}

void Schedule::Add(std::uint32_t step) {
  bool skipped = false;
  for (const auto before : job_.steps[step].after) {
    dependents_[before].push_back(step);
    // Steps that are not added yet are not done either.
    const bool done = before < step && states_[before] == State::kDone;
    if (!done) ++unmet_[step];
    skipped = skipped || states_[before] == State::kFailed || states_[before] == State::kSkipped;
  }
  auto& state = states_[step];
  if (skipped) {
    state = State::kSkipped;
  } else if (unmet_[step] > 0) {
    state = State::kBlocked;
  }
  Enter(step, state);
}

// Returns the set of the ready steps with the lane and priority of this one.
StepSet& Schedule::ReadyLike(std::uint32_t step) {
  const Command& command = job_.commands[job_.steps[step].command];
  auto& by_priority = ready_[static_cast<std::size_t>(LaneOf(command))];
  const auto [set, is_new] = by_priority.try_emplace(-command.priority);
  if (is_new) set->second.Resize(states_.size());
  return set->second;
}

std::uint64_t& Schedule::Count(State state) {
  constexpr std::array kCounters = {&Counts::blocked, &Counts::ready,  &Counts::running,
                                    &Counts::done,    &Counts::failed, &Counts::held,
                                    &Counts::skipped};
  return counts_.*kCounters.at(static_cast<std::size_t>(state));
}

void Schedule::Move(std::uint32_t step, State to) {
  Leave(step, states_[step]);
  states_[step] = to;
  Enter(step, to);
}

Lane Schedule::LaneOfStep(std::uint32_t step) const {
  return LaneOf(job_.commands[job_.steps[step].command]);
}

void Schedule::Enter(std::uint32_t step, State state) {
  const auto lane = static_cast<std::size_t>(LaneOfStep(step));
  ++Count(state);
  if (state == State::kReady) ReadyLike(step).Insert(step);
  if (state != State::kReady && state != State::kBlocked) return;
  ++waiting_[job_.steps[step].command];
  ++waiting_in_lane_[lane];
}

void Schedule::Leave(std::uint32_t step, State state) {
  const auto lane = static_cast<std::size_t>(LaneOfStep(step));
  --Count(state);
  if (state == State::kReady) ReadyLike(step).Erase(step);
  if (state != State::kReady && state != State::kBlocked) return;
  --waiting_[job_.steps[step].command];
  --waiting_in_lane_[lane];
}

std::vector<std::uint32_t> Schedule::Ready(std::size_t max, Lanes lanes) const {
  using Key = std::pair<int, std::uint32_t>;
  std::vector<Key> keys;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (!lanes[lane]) continue;
    const auto middle = static_cast<std::ptrdiff_t>(keys.size());
    const std::size_t enough = keys.size() + max;
    for (const auto& [priority, set] : ready_[lane]) {
      for (auto step = set.Next(0); step && keys.size() < enough; step = set.Next(*step + 1)) {
        keys.emplace_back(priority, *step);
      }
    }
    std::inplace_merge(keys.begin(), keys.begin() + middle, keys.end());
  }
  if (keys.size() > max) keys.resize(max);
  std::vector<std::uint32_t> steps(keys.size());
  std::ranges::transform(keys, steps.begin(), &Key::second);
  return steps;
}

void Schedule::Start(std::uint32_t step) { Move(step, State::kRunning); }

void Schedule::Finish(std::uint32_t step) {
  Move(step, State::kDone);
  if (dependents_.empty()) return;
  for (const auto dependent : dependents_[step]) {
    if (--unmet_[dependent] == 0 && states_[dependent] == State::kBlocked) {
      Move(dependent, State::kReady);
    }
  }
}

void Schedule::Fail(std::uint32_t step) {
  Move(step, State::kFailed);
  if (dependents_.empty()) return;
  std::vector<std::uint32_t> pending = dependents_[step];
  while (!pending.empty()) {
    const auto dependent = pending.back();
    pending.pop_back();
    if (states_[dependent] != State::kBlocked) continue;
    Move(dependent, State::kSkipped);
    pending.insert(pending.end(), dependents_[dependent].begin(), dependents_[dependent].end());
  }
}

void Schedule::Hold(std::uint32_t step) { Move(step, State::kHeld); }

void Schedule::Requeue(std::uint32_t step) {
  Move(step, unmet_[step] == 0 ? State::kReady : State::kBlocked);
}

void Schedule::Revive(std::uint32_t step) {
  Requeue(step);
  if (dependents_.empty()) return;
  const auto is_unmet = [&](std::uint32_t before) {
    return states_[before] == State::kFailed || states_[before] == State::kSkipped;
  };
  std::vector<std::uint32_t> pending = dependents_[step];
  while (!pending.empty()) {
    const auto dependent = pending.back();
    pending.pop_back();
    if (states_[dependent] != State::kSkipped) continue;
    if (std::ranges::any_of(job_.steps[dependent].after, is_unmet)) continue;
    Move(dependent, State::kBlocked);
    pending.insert(pending.end(), dependents_[dependent].begin(), dependents_[dependent].end());
  }
}

}  // namespace reveza::jobs
