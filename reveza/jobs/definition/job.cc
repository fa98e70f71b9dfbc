#include "reveza/jobs/definition/job.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace reveza::jobs {

bool MayHoldGpu(const Command& command) {
  if (LaneOf(command) == Lane::kGpu) return true;
  const auto& words = command.arguments;
  const auto is_run = [](const std::string& program, const std::string& word) {
    return (program == "reveza" || program.ends_with("/reveza")) && word == "run";
  };
  if (std::ranges::adjacent_find(words, is_run) != words.end()) return true;
  // Within a shell command line.
  return std::ranges::any_of(words,
                             [](std::string_view word) { return word.contains("reveza run"); });
}

std::uint32_t NumberOf(const Job& job, std::size_t step) {
  const std::uint32_t number = job.steps[step].number;
  return number != 0 ? number : static_cast<std::uint32_t>(step + 1);
}

std::string LabelOf(const Job& job, std::size_t step) {
  std::string label;
  for (const auto [name, value] : job.steps[step].parameters) {
    if (!label.empty()) label += ' ';
    label.append(name).append("=").append(value);
  }
  return label.empty() ? std::to_string(NumberOf(job, step)) : label;
}

std::vector<std::uint32_t> FindDependencyCycle(
    std::uint32_t count,
    const std::function<std::span<const std::uint32_t>(std::uint32_t)>& after) {
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  struct Visit {
    std::uint32_t node = 0;
    std::size_t next = 0;  // index of the next edge to follow
  };
  std::vector<State> states(count, State::kNew);
  std::vector<Visit> path;  // explicit stack: chains may be 100,000 steps long
  for (std::uint32_t root = 0; root < count; ++root) {
    if (states[root] != State::kNew) continue;
    states[root] = State::kOpen;
    path.push_back({root, 0});
    while (!path.empty()) {
      Visit& visit = path.back();
      const auto dependencies = after(visit.node);
      if (visit.next == dependencies.size()) {
        states[visit.node] = State::kDone;
        path.pop_back();
        continue;
      }
      const std::uint32_t other = dependencies[visit.next++];
      if (states[other] == State::kOpen) {
        std::vector<std::uint32_t> cycle;
        const auto begin = std::ranges::find(path, other, &Visit::node);
        std::ranges::transform(begin, path.end(), std::back_inserter(cycle), &Visit::node);
        cycle.push_back(other);
        return cycle;
      }
      if (states[other] == State::kDone) continue;
      states[other] = State::kOpen;
      path.push_back({other, 0});
    }
  }
  return {};
}

}  // namespace reveza::jobs
