#include "phi/measures/queyranne.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace reveza::phi {
namespace {

using Group = std::vector<int>;

Group United(const Group& one, const Group& other) {
  Group both;
  both.reserve(one.size() + other.size());
  std::ranges::merge(one, other, std::back_inserter(both));
  return both;
}

}  // namespace

Result<PendentMinimum> MinimumByPendentPairs(
    int count, const std::function<Result<double>(const std::vector<int>&)>& value_of) {
  std::vector<Group> groups;
  for (int i = 0; i < count; ++i) groups.push_back({i});
  PendentMinimum best{.part = {}, .value = HUGE_VAL};
  while (groups.size() > 1) {
    std::vector<double> alone;
    for (const Group& group : groups) {
      const auto value = value_of(group);
      if (!value) return std::unexpected(value.error());
      alone.push_back(*value);
    }
    // An order in which each next group is the one with the least of f(before + it) - f(it): its
    // last two are a pendent pair, that is, no division between them is lower than the last alone.
    Group before = groups.front();
    std::vector<std::size_t> rest;
    for (std::size_t i = 1; i < groups.size(); ++i) rest.push_back(i);
    std::size_t next_to_last = 0;
    while (rest.size() > 1) {
      std::size_t chosen = 0;
      double least = HUGE_VAL;
      for (std::size_t i = 0; i < rest.size(); ++i) {
        const auto value = value_of(United(before, groups[rest[i]]));
        if (!value) return std::unexpected(value.error());
        const double key = *value - alone[rest[i]];
        if (key < least) {
          least = key;
          chosen = i;
        }
      }
      next_to_last = rest[chosen];
      before = United(before, groups[next_to_last]);
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
    const std::size_t last = rest.front();
    if (alone[last] < best.value || best.part.empty()) {
      best = {.part = groups[last], .value = alone[last]};
    }
    groups[next_to_last] = United(groups[next_to_last], groups[last]);
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(last));
  }
  return best;
}

}  // namespace reveza::phi
