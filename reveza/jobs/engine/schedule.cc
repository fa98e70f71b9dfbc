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

std::pair<int, std::uint32_t> Schedule::Key(std::uint32_t step) const {
  return {-job_.commands[job_.steps[step].command].priority, step};
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
  if (state == State::kReady) ready_[lane].insert(Key(step));
  if (state != State::kReady && state != State::kBlocked) return;
  ++waiting_[job_.steps[step].command];
  ++waiting_in_lane_[lane];
}

void Schedule::Leave(std::uint32_t step, State state) {
  const auto lane = static_cast<std::size_t>(LaneOfStep(step));
  --Count(state);
  if (state == State::kReady) ready_[lane].erase(Key(step));
  if (state != State::kReady && state != State::kBlocked) return;
  --waiting_[job_.steps[step].command];
  --waiting_in_lane_[lane];
}

std::vector<std::uint32_t> Schedule::Ready(std::size_t max, Lanes lanes) const {
  std::vector<std::pair<int, std::uint32_t>> keys;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (!lanes[lane]) continue;
    const auto middle = static_cast<std::ptrdiff_t>(keys.size());
    for (auto key = ready_[lane].begin(); key != ready_[lane].end(); ++key) {
      if (keys.size() - static_cast<std::size_t>(middle) == max) break;
      keys.push_back(*key);
    }
    std::inplace_merge(keys.begin(), keys.begin() + middle, keys.end());
  }
  std::vector<std::uint32_t> steps;
  for (const auto& [priority, step] : keys) {
    if (steps.size() == max) break;
    steps.push_back(step);
  }
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
