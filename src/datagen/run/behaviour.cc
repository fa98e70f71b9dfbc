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
using coherent::Typology;

constexpr std::array<std::string_view, 2> kDeviceUses = {"own", "thief"};
constexpr std::array<std::string_view, 3> kHourUses = {"any", "office", "night"};
constexpr std::array<std::string_view, 3> kGoods = {"usual", "sellable", "digital"};

using Place = std::variant<uint32_t*, int32_t*, int64_t*, bool*, DeviceUse*, HourUse*, Goods*>;

struct Entry {
  std::string section;
  std::string_view key;
  Place place;
};

std::span<const std::string_view> WordsOf(DeviceUse) { return kDeviceUses; }
std::span<const std::string_view> WordsOf(HourUse) { return kHourUses; }
std::span<const std::string_view> WordsOf(Goods) { return kGoods; }

void AddTypology(std::vector<Entry>& entries, std::string_view name, Typology& typology) {
  const std::string section = fmt::format("typologies.{}", name);
  const std::vector<std::pair<std::string_view, Place>> places = {
      {"weight", &typology.weight},
      {"least_rows", &typology.least_rows},
      {"most_rows", &typology.most_rows},
      {"test_rows", &typology.test_rows},
      {"least_gap_minutes", &typology.least_gap_minutes},
      {"most_gap_minutes", &typology.most_gap_minutes},
      {"device", &typology.device},
      {"hours", &typology.hours},
      {"goods", &typology.goods},
      {"far_away", &typology.far_away},
      {"web", &typology.web},
      {"chains", &typology.chains},
      {"least_income_thousandths", &typology.least_income_thousandths},
      {"most_income_thousandths", &typology.most_income_thousandths},
      {"least_amount", &typology.least_amount},
      {"most_amount", &typology.most_amount},
      {"report_hours", &typology.report_hours},
      {"reported_thousandths", &typology.reported_thousandths},
      {"drift_thousandths", &typology.drift_thousandths}};
  for (const auto& [key, place] : places) entries.push_back({section, key, place});
  for (std::size_t i = 0; i < typology.kinds.size(); ++i) {
    entries.push_back({section + ".kinds", coherent::kKindNames.at(i), &typology.kinds.at(i)});
  }
}

std::vector<Entry> EntriesOf(Parameters& parameters) {
  std::vector<Entry> entries;
  const auto add = [&](const char* section,
                       const std::vector<std::pair<std::string_view, Place>>& places) {
    for (const auto& [key, place] : places) entries.push_back({section, key, place});
  };
  coherent::ChainParameters& chains = parameters.chains;
  add("chains", {{"most_share_thousandths", &chains.most_share_thousandths},
                 {"least_hops", &chains.least_hops},
                 {"most_hops", &chains.most_hops},
                 {"least_delay_minutes", &chains.least_delay_minutes},
                 {"most_delay_minutes", &chains.most_delay_minutes},
                 {"least_fee_thousandths", &chains.least_fee_thousandths},
                 {"most_fee_thousandths", &chains.most_fee_thousandths},
                 {"mules_thousandths", &chains.mules_thousandths},
                 {"hops_of_a_mule", &chains.hops_of_a_mule},
                 {"mules_of_a_ring", &chains.mules_of_a_ring}});
  coherent::Lookalikes& lookalikes = parameters.lookalikes;
  add("lookalikes", {{"journey_a_month", &lookalikes.journey_a_month},
                     {"new_phone_a_month", &lookalikes.new_phone_a_month},
                     {"new_number_a_month", &lookalikes.new_number_a_month},
                     {"spree_a_month", &lookalikes.spree_a_month},
                     {"stranger_paid", &lookalikes.stranger_paid},
                     {"odd_hour", &lookalikes.odd_hour},
                     {"shared_device", &lookalikes.shared_device}});
  coherent::RiskWeights& risk = parameters.risk;
  add("risk", {{"base", &risk.base},
               {"noise", &risk.noise},
               {"new_beneficiary", &risk.new_beneficiary},
               {"new_device", &risk.new_device},
               {"far_away", &risk.far_away},
               {"unusual_time", &risk.unusual_time},
               {"doubling", &risk.doubling},
               {"busy_day", &risk.busy_day},
               {"alert_above", &risk.alert_above},
               {"block_above", &risk.block_above},
               {"blocked_thousandths", &risk.blocked_thousandths}});
  coherent::Drift& drift = parameters.drift;
  add("drift", {{"amounts_thousandths", &drift.amounts_thousandths},
                {"to_pix_thousandths", &drift.to_pix_thousandths},
                {"to_mobile_thousandths", &drift.to_mobile_thousandths}});
  for (std::size_t i = 0; i < parameters.ride_frauds.size(); ++i) {
    entries.push_back(
        {"ride_frauds", lists::kRideFraudTypeNames.at(i), &parameters.ride_frauds.at(i)});
  }
  for (std::size_t i = 0; i < parameters.typologies.size(); ++i) {
    AddTypology(entries, coherent::kFraudTypeNames.at(i), parameters.typologies.at(i));
  }
  return entries;
}

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

Status SetBehaviour(Parameters& parameters, std::string_view key, std::string_view value) {
  std::vector<std::string> names;
  for (const Entry& entry : EntriesOf(parameters)) {
    names.push_back(fmt::format("{}.{}", entry.section, entry.key));
    if (names.back() != key) continue;
    return std::visit([&](auto* place) { return Parse(value, *place); }, entry.place);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto nearest = Nearest(key, views);
  return Fail(Error::Code::kInvalidArgument,
              nearest ? fmt::format("unknown key '{}'; did you mean '{}'?", key, *nearest)
                      : fmt::format("unknown key '{}'; `fraudgen config` lists all", key));
}

std::string BehaviourText(const Parameters& parameters) {
  Parameters copy = parameters;
  std::string text;
  std::string section;
  for (const Entry& entry : EntriesOf(copy)) {
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
