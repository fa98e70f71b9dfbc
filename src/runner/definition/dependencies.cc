#include "runner/definition/dependencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace reveza::runner {

std::vector<std::uint32_t> FindCircle(
    std::uint32_t count,
    const std::function<std::span<const std::uint32_t>(std::uint32_t)>& after) {
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  struct Visit {
    std::uint32_t node = 0;
    std::size_t next = 0;  // which of those that it waits for is looked at next
  };
  std::vector<State> states(count, State::kNew);
  std::vector<Visit> path;  // not the stack: a chain of steps may be a hundred thousand long
  for (std::uint32_t root = 0; root < count; ++root) {
    if (states[root] != State::kNew) continue;
    states[root] = State::kOpen;
    path.push_back({root, 0});
    while (!path.empty()) {
      Visit& visit = path.back();
      const auto waits_for = after(visit.node);
      if (visit.next == waits_for.size()) {
        states[visit.node] = State::kDone;
        path.pop_back();
        continue;
      }
      const std::uint32_t other = waits_for[visit.next++];
      if (states[other] == State::kOpen) {
        std::vector<std::uint32_t> circle;
        const auto begin = std::ranges::find(path, other, &Visit::node);
        std::ranges::transform(begin, path.end(), std::back_inserter(circle), &Visit::node);
        circle.push_back(other);
        return circle;
      }
      if (states[other] == State::kDone) continue;
      states[other] = State::kOpen;
      path.push_back({other, 0});
    }
  }
  return {};
}

Status CheckDependencies(const Job& job) {
  for (std::size_t i = 0; i < job.steps.size(); ++i) {
    for (const std::uint32_t other : job.steps[i].after) {
      if (other < job.steps.size()) continue;
      return Fail(Error::Code::kInvalidArgument,
                  fmt::format("step {} waits for step {}, but there are {}", i + 1,
                              std::uint64_t{other} + 1, job.steps.size()));
    }
  }
  const auto circle = FindCircle(
      static_cast<std::uint32_t>(job.steps.size()),
      [&](std::uint32_t i) { return std::span<const std::uint32_t>(job.steps[i].after); });
  if (circle.empty()) return {};
  std::string path;
  for (const std::uint32_t step : circle) {
    path += fmt::format("{}step {}", path.empty() ? "" : " waits for ", step + 1);
  }
  return Fail(Error::Code::kInvalidArgument,
              fmt::format("steps wait for each other: {}; take one of these away", path));
}

}  // namespace reveza::runner
