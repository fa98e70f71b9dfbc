#include "datagen/run/behaviour.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/nearest.h"
#include "datagen/run/settings_values.h"

namespace reveza::datagen {
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

// Numbers with room to add up: what is beyond a billion nobody means.
template <typename T>
Status Parse(std::string_view text, T& to) {
  if constexpr (std::same_as<T, bool>) {
    const auto flag = ParseFlag(text);
    if (!flag) return std::unexpected(flag.error());
    to = *flag;
  } else if constexpr (std::is_enum_v<T>) {
    const auto word = ParseWord(text, WordsOf(to));
    if (!word) return std::unexpected(word.error());
    to = static_cast<T>(*word);
  } else {
    constexpr int64_t kMost = 1'000'000'000;
    constexpr int64_t kLeast = std::is_signed_v<T> ? -kMost : 0;
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < kLeast ||
        value > kMost) {
      return Fail(Error::Code::kInvalidArgument,
                  fmt::format("'{}' is not right; write a whole number from {} to {}", text, kLeast,
                              kMost));
    }
    to = static_cast<T>(value);
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

BehaviourKeys::BehaviourKeys(Parameters& parameters) {
  for (const BehaviourEntry& entry : BehaviourEntries(parameters)) {
    places_.emplace(entry.Name(), entry.place);
  }
}

Status BehaviourKeys::Set(std::string_view key, std::string_view value) const {
  const auto found = places_.find(std::string(key));
  if (found != places_.end()) {
    return std::visit([&](auto* place) { return Parse(value, *place); }, found->second);
  }
  std::vector<std::string_view> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  std::ranges::sort(names);
  const auto nearest = Nearest(key, names);
  return Fail(Error::Code::kInvalidArgument,
              nearest ? fmt::format("unknown key '{}'; did you mean '{}'?", key, *nearest)
                      : fmt::format("unknown key '{}'; `fraudgen config` lists all", key));
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
                   std::visit([](const auto* place) { return Show(*place); }, entry.place));
  }
  return text;
}

}  // namespace reveza::datagen
