#include "fraudgen/run/behaviour.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "common/base/parse_number.h"
#include "common/settings/layered_settings.h"
#include "fraudgen/run/settings_values.h"

namespace reveza::fraudgen {
namespace {

using coherent::DeviceUse;
using coherent::Goods;
using coherent::HourUse;
using coherent::Parameters;

constexpr std::array<std::string_view, 2> kDeviceUses = {"own", "thief"};
constexpr std::array<std::string_view, 3> kHourUses = {"any", "office", "night"};
constexpr std::array<std::string_view, 3> kGoods = {"usual", "sellable", "digital"};

std::span<const std::string_view> WordsOf(DeviceUse) { return kDeviceUses; }
std::span<const std::string_view> WordsOf(HourUse) { return kHourUses; }
std::span<const std::string_view> WordsOf(Goods) { return kGoods; }

// Numbers are limited to a billion so that sums cannot overflow.
template <typename T>
Status Parse(std::string_view text, T& to) {
  if constexpr (std::same_as<T, bool>) {
    ASSIGN_OR_RETURN(const auto flag, ParseFlag(text));
    to = flag;
  } else if constexpr (std::is_enum_v<T>) {
    ASSIGN_OR_RETURN(const auto word, ParseWord(text, WordsOf(to)));
    to = static_cast<T>(word);
  } else {
    constexpr int64_t kMax = 1'000'000'000;
    constexpr int64_t kMin = std::is_signed_v<T> ? -kMax : 0;
    const auto value = ParseNumber<int64_t>(text);
    if (!value || *value < kMin || *value > kMax) {
      return InvalidArgument("'{}' is invalid; expected a whole number from {} to {}", text, kMin,
                             kMax);
    }
    to = static_cast<T>(*value);
  }
  return {};
}

template <typename T>
std::string Show(T value) {
  if constexpr (std::is_enum_v<T>) {
    return fmt::format("\"{}\"", WordsOf(value)[static_cast<std::size_t>(value)]);
  } else {
    return fmt::format("{}", value);
  }
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
    fmt::format_to(std::back_inserter(text), "{} = {}\n", entry.key,
                   std::visit([](const auto* field) { return Show(*field); }, entry.field));
  }
  return text;
}

}  // namespace reveza::fraudgen
