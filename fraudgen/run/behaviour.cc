#include "fraudgen/run/behaviour.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/parse_number.h"
#include "common/settings/layered_settings.h"

namespace reveza::fraudgen {
namespace {

using coherent::Parameters;

// Numbers are limited to a billion so that sums cannot overflow.
template <typename T>
Status Parse(std::string_view text, T& to) {
  constexpr int64_t kMax = 1'000'000'000;
  constexpr int64_t kMin = std::is_signed_v<T> ? -kMax : 0;
  const auto value = ParseNumber<int64_t>(text);
  if (!value || *value < kMin || *value > kMax) {
    return InvalidArgument("'{}' is invalid; expected a whole number from {} to {}", text, kMin,
                           kMax);
  }
  to = static_cast<T>(*value);
  return {};
}

}  // namespace

std::vector<BehaviourEntry> BehaviourEntries(Parameters& parameters) {
  std::vector<BehaviourEntry> entries;
  for (const coherent::ParameterField& field : coherent::FieldsOf(parameters)) {
    std::visit(
        [&](auto* value) {
          if constexpr (requires { value->min; }) {
            entries.push_back({field.section, "least_" + field.key, &value->min});
            entries.push_back({field.section, "most_" + field.key, &value->max});
          } else {
            entries.push_back({field.section, field.key, value});
          }
        },
        field.value);
  }
  return entries;
}

BehaviourKeys::BehaviourKeys(Parameters& parameters) {
  for (const BehaviourEntry& entry : BehaviourEntries(parameters)) {
    fields_.emplace(entry.Name(), entry.field);
  }
}

Status BehaviourKeys::Set(std::string_view key, std::string_view value) const {
  const auto found = fields_.find(std::string(key));
  if (found != fields_.end()) {
    return std::visit([&](auto* field) { return Parse(value, *field); }, found->second);
  }
  std::vector<std::string_view> names;
  for (const auto& [name, field] : fields_) names.push_back(name);
  std::ranges::sort(names);
  return UnknownKey(key, names, "fraudgen config");
}

std::string BehaviourText(const Parameters& parameters) {
  Parameters copy = parameters;
  std::string text;
  std::string section;
  for (const BehaviourEntry& entry : BehaviourEntries(copy)) {
    if (entry.section != section) {
      section = entry.section;
      fmt::format_to(std::back_inserter(text), "\n[{}]\n", section);
    }
    fmt::format_to(
        std::back_inserter(text), "{} = {}\n", entry.key,
        std::visit([](const auto* field) { return fmt::format("{}", *field); }, entry.field));
  }
  for (const coherent::Scenario& scenario : parameters.scenarios) text += ScenarioText(scenario);
  return text;
}

Status TakeScenarios(Node& root, std::string_view file, Parameters& parameters) {
  const auto found = std::ranges::find(root.members, "scenario", &Member::key);
  if (found == root.members.end()) return {};
  const Node& value = found->value;
  if (value.kind != Node::Kind::kArray) {
    return ErrorAt(file, found->location, "scenario: expected tables [[scenario]]");
  }
  for (const Node& table : value.items) {
    if (table.kind != Node::Kind::kTable) {
      return ErrorAt(file, table.location, "scenario: expected tables [[scenario]]");
    }
    ASSIGN_OR_RETURN(auto scenario, coherent::ReadScenario(table, file));
    parameters.Add(std::move(scenario));
  }
  root.members.erase(found);
  return {};
}

}  // namespace reveza::fraudgen
