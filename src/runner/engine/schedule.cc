#include "runner/engine/schedule.h"

#include <algorithm>

namespace reveza::runner {

Schedule::Schedule(const Job& job) : job_(job) { TakeNewSteps(); }

void Schedule::TakeNewSteps() {
  const auto first = static_cast<std::uint32_t>(states_.size());
  const auto count = static_cast<std::uint32_t>(job_.steps.size());
  const bool chained = std::any_of(job_.steps.begin() + first, job_.steps.end(),
                                   [](const Step& step) { return !step.after.empty(); });
  states_.resize(count, State::kReady);
  waiting_.resize(job_.commands.size(), 0);
  missing_.resize(count, 0);
  if (chained || !followers_.empty()) followers_.resize(count);
  for (std::uint32_t step = first; step < count; ++step) Add(step);
}

void Schedule::Add(std::uint32_t step) {
  bool never = false;
  for (const auto before : job_.steps[step].after) {
    followers_[before].push_back(step);
    // One that is not looked at yet waits, too.
    const bool done = before < step && states_[before] == State::kDone;
    if (!done) ++missing_[step];
    never = never || states_[before] == State::kFailed || states_[before] == State::kSkipped;
  }
  auto& state = states_[step];
  if (never) {
    state = State::kSkipped;
  } else if (missing_[step] > 0) {
    state = State::kBlocked;
  }
  Enter(step, state);
}

std::pair<int, std::uint32_t> Schedule::Key(std::uint32_t step) const {
  return {-job_.commands[job_.steps[step].command].priority, step};
}

std::uint64_t& Schedule::Count(State state) {
  switch (state) {
    case State::kBlocked:
      return counts_.blocked;
    case State::kReady:
      return counts_.ready;
    case State::kRunning:
      return counts_.running;
    case State::kDone:
      return counts_.done;
    case State::kFailed:
      return counts_.failed;
    case State::kHeld:
      return counts_.held;
    case State::kSkipped:
      return counts_.skipped;
  }
  return counts_.blocked;
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

std::optional<std::uint32_t> Schedule::Next() const {
  const auto first = Ready(1);
  if (first.empty()) return std::nullopt;
  return first.front();
}

std::vector<std::uint32_t> Schedule::Ready(std::size_t most, Lanes may) const {
  std::vector<std::pair<int, std::uint32_t>> keys;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (!may[lane]) continue;
    const auto middle = static_cast<std::ptrdiff_t>(keys.size());
    for (auto key = ready_[lane].begin(); key != ready_[lane].end(); ++key) {
      if (keys.size() - static_cast<std::size_t>(middle) == most) break;
      keys.push_back(*key);
    }
    std::inplace_merge(keys.begin(), keys.begin() + middle, keys.end());
  }
  std::vector<std::uint32_t> steps;
  for (const auto& [priority, step] : keys) {
    if (steps.size() == most) break;
    steps.push_back(step);
  }
  return steps;
}

void Schedule::Start(std::uint32_t step) { Move(step, State::kRunning); }

void Schedule::Finish(std::uint32_t step) {
  Move(step, State::kDone);
  if (followers_.empty()) return;
  for (const auto follower : followers_[step]) {
    if (--missing_[follower] == 0 && states_[follower] == State::kBlocked) {
      Move(follower, State::kReady);
    }
  }
}

void Schedule::Fail(std::uint32_t step) {
  Move(step, State::kFailed);
  if (followers_.empty()) return;
  std::vector<std::uint32_t> open_ones = followers_[step];
  while (!open_ones.empty()) {
    const auto follower = open_ones.back();
    open_ones.pop_back();
    if (states_[follower] != State::kBlocked) continue;
    Move(follower, State::kSkipped);
    open_ones.insert(open_ones.end(), followers_[follower].begin(), followers_[follower].end());
  }
}

void Schedule::Hold(std::uint32_t step) { Move(step, State::kHeld); }

void Schedule::Requeue(std::uint32_t step) {
  Move(step, missing_[step] == 0 ? State::kReady : State::kBlocked);
}

void Schedule::Revive(std::uint32_t step) {
  Requeue(step);
  if (followers_.empty()) return;
  const auto never = [&](std::uint32_t before) {
    return states_[before] == State::kFailed || states_[before] == State::kSkipped;
  };
  std::vector<std::uint32_t> open_ones = followers_[step];
  while (!open_ones.empty()) {
    const auto follower = open_ones.back();
    open_ones.pop_back();
    if (states_[follower] != State::kSkipped) continue;
    if (std::ranges::any_of(job_.steps[follower].after, never)) continue;
    Move(follower, State::kBlocked);
    open_ones.insert(open_ones.end(), followers_[follower].begin(), followers_[follower].end());
  }
}

}  // namespace reveza::runner
