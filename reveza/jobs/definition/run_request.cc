#include "reveza/jobs/definition/run_request.h"

#include <fmt/format.h>

#include <cmath>

#include "common/base/parse_number.h"

namespace reveza::jobs {
namespace {

using Relation = MetricGoal::Relation;

const char* SignOf(Relation relation) {
  constexpr const char* kSigns[] = {"<", "<=", ">", ">="};
  return kSigns[static_cast<int>(relation)];
}

}  // namespace

bool MetricGoal::IsMetBy(double reported) const {
  switch (relation) {
    case Relation::kBelow:
      return reported < value;
    case Relation::kAtMost:
      return reported <= value;
    case Relation::kAbove:
      return reported > value;
    case Relation::kAtLeast:
      return reported >= value;
  }
  return false;
}

Result<MetricGoal> ParseGoal(std::string_view text) {
  const std::size_t sign = text.find_first_of("<>");
  const bool equal = sign != text.npos && text.substr(sign + 1).starts_with('=');
  const auto number =
      sign == text.npos ? std::nullopt : ParseNumber<double>(text.substr(sign + (equal ? 2 : 1)));
  if (sign == text.npos || sign == 0 || !number || !std::isfinite(*number)) {
    return InvalidArgument("'{}' is not a bound for a metric such as loss<0.05 or phi>=1", text);
  }
  const bool below = text[sign] == '<';
  MetricGoal goal{.metric = std::string(text.substr(0, sign)), .value = *number};
  if (below) {
    goal.relation = equal ? Relation::kAtMost : Relation::kBelow;
  } else {
    goal.relation = equal ? Relation::kAtLeast : Relation::kAbove;
  }
  return goal;
}

std::string ToText(const MetricGoal& goal) {
  return fmt::format("{}{}{:g}", goal.metric, SignOf(goal.relation), goal.value);
}

}  // namespace reveza::jobs
