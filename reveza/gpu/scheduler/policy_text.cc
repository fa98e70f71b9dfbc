#include "reveza/gpu/scheduler/policy_text.h"

#include <algorithm>
#include <array>

#include "common/base/nearest.h"
#include "common/base/parse_number.h"
#include "common/base/units.h"

namespace reveza::scheduler {
namespace {

// An empty text is `otherwise`.
Result<Bytes> ParsePart(std::string_view text, Bytes otherwise) {
  if (text.empty()) return otherwise;
  return ParseBytes(text);
}

}  // namespace

Result<double> ParseWeight(std::string_view text) {
  const auto weight = ParseNumber<double>(text);
  if (weight && *weight >= Policy::kMinWeight && *weight <= Policy::kMaxWeight) return *weight;
  return InvalidArgument("'{}' is not a number from {} to {}", text, Policy::kMinWeight,
                         Policy::kMaxWeight);
}

Result<Priority> ParsePriority(std::string_view text) {
  const std::array<std::string_view, 3> names = {ToText(Priority::kLow), ToText(Priority::kNormal),
                                                 ToText(Priority::kHigh)};
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<Priority>(found - names.begin());
  return InvalidArgument("unknown priority '{}'{}; use low, normal or high", text,
                         DidYouMean(text, names));
}

Result<bool> ParseInteractive(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  return InvalidArgument("'{}' is not valid; use true or false", text);
}

Status ParseMemory(std::string_view text, Policy& policy) {
  const std::size_t colon = text.find(':');
  const auto limit = colon == text.npos ? std::string_view() : text.substr(colon + 1);
  ASSIGN_OR_RETURN(policy.request, ParsePart(text.substr(0, colon), 0));
  ASSIGN_OR_RETURN(policy.limit, ParsePart(limit, Policy{}.limit));
  if (policy.request <= policy.limit) return {};
  return InvalidArgument("the request of {} exceeds the limit of {}", FormatBytes(policy.request),
                         FormatBytes(policy.limit));
}

}  // namespace reveza::scheduler
