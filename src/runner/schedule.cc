#include "runner/schedule.h"

#include <algorithm>

namespace reveza::runner {

Schedule::Schedule(const Job& job)
    : job_(job), states_(job.steps.size(), State::kReady), missing_(job.steps.size(), 0) {
  const auto count = static_cast<std::uint32_t>(job.steps.size());
  const bool chained =
      std::ranges::any_of(job.steps, [](const Step& s) { return !s.after.empty(); });
  if (chained) followers_.resize(count);
  for (std::uint32_t step = 0; step < count; ++step) {
    const auto& after = job.steps[step].after;
    for (const auto before : after) followers_[before].push_back(step);
    missing_[step] = static_cast<std::uint32_t>(after.size());
    if (after.empty()) {
      ready_.insert(Key(step));
      ++counts_.ready;
    } else {
      states_[step] = State::kBlocked;
      ++counts_.blocked;
    }
  }
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
  auto& state = states_[step];
  if (state == State::kReady) ready_.erase(Key(step));
  --Count(state);
  state = to;
  ++Count(state);
  if (state == State::kReady) ready_.insert(Key(step));
}

std::optional<std::uint32_t> Schedule::Next() const {
  if (ready_.empty()) return std::nullopt;
  return ready_.begin()->second;
}

std::vector<std::uint32_t> Schedule::Ready(std::size_t most) const {
  std::vector<std::uint32_t> steps;
  for (const auto& [priority, step] : ready_) {
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

}  // namespace reveza::runner
