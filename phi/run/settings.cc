#include "phi/run/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>

#include "common/base/nearest.h"

namespace reveza::phi {
namespace {

constexpr int kMaxWindow = 100'000;

Status UnknownMeasure(std::string_view name) {
  std::vector<std::string_view> names = {kLegacyName};
  std::string list(kLegacyName);
  for (const Measure measure : kAllMeasures) {
    names.push_back(NameOf(measure));
    list += fmt::format(", {}", NameOf(measure));
  }
  return InvalidArgument("--measure: unknown measure '{}'{}; use some of {}, or all, or none", name,
                         DidYouMean(name, names), list);
}

Status AddMeasure(std::string_view name, RunSettings& settings) {
  if (name == kLegacyName) {
    settings.legacy = true;
    return {};
  }
  const auto measure = ParseMeasure(name);
  if (!measure) return UnknownMeasure(name);
  if (std::ranges::find(settings.measures, *measure) == settings.measures.end()) {
    settings.measures.push_back(*measure);
  }
  return {};
}

Status CheckInteger(std::string_view name, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value >= min && value <= max) return {};
  return InvalidArgument("{} is {}; use a number from {} to {}", name, value, min, max);
}

}  // namespace

Status SetMeasures(std::string_view names, RunSettings& settings) {
  settings.legacy = false;
  settings.measures.clear();
  if (names == "none") return {};
  if (names == "all") {
    settings.legacy = true;
    settings.measures.assign(kAllMeasures.begin(), kAllMeasures.end());
    return {};
  }
  if (names.empty()) return UnknownMeasure(names);
  for (const auto name : std::views::split(names, ',')) {
    RETURN_IF_ERROR(AddMeasure(std::string_view(name), settings));
  }
  return {};
}

std::vector<std::string> MeasureNames(const RunSettings& settings) {
  std::vector<std::string> names;
  if (settings.legacy) names.emplace_back(kLegacyName);
  for (const Measure measure : settings.measures) names.emplace_back(NameOf(measure));
  return names;
}

Status Prepare(RunSettings& settings) {
  settings.engine.correlation = settings.legacy;
  RETURN_IF_ERROR(CheckSettings(settings.engine));
  // A regression of six modules on six needs more rows than this.
  const int min = 2 * kModules + settings.lag + 2;
  for (const Status& status :
       {CheckInteger("--lag", settings.lag, 1, kMaxWindow),
        CheckInteger("--window", settings.window, min, kMaxWindow),
        CheckInteger("--every", settings.every, 1, std::int64_t{1} << 40),
        CheckInteger("--checkpoint-every", static_cast<std::int64_t>(settings.checkpoint_every), 1,
                     std::int64_t{1} << 40),
        CheckInteger("--cycles", static_cast<std::int64_t>(settings.cycles), 1, 0xffffffff)}) {
    if (!status) return status;
  }
  if (settings.legacy_json && !settings.Keeps()) {
    return InvalidArgument("--legacy-json requires --output with a folder");
  }
  if (settings.legacy_json && !settings.legacy) {
    return InvalidArgument("--legacy-json requires phi_legacy in --measure");
  }
  return {};
}

std::vector<Parameter> ParametersOf(const RunSettings& settings) {
  const EngineSettings& engine = settings.engine;
  const CycleConstants& constants = engine.constants;
  const auto parameter = [](std::string_view name, const auto& value) {
    return Parameter{std::string(name), fmt::format("{}", value)};
  };
  std::string measures;
  for (const std::string& name : MeasureNames(settings)) {
    measures += (measures.empty() ? "" : ",") + name;
  }
  return {parameter("dimension", constants.dimension),
          parameter("seed", engine.seed),
          parameter("first-run", engine.first_run),
          parameter("runs", engine.runs),
          parameter("temperature", constants.temperature),
          parameter("repression", constants.repression),
          parameter("decay", constants.decay),
          parameter("least-variance", constants.min_variance),
          parameter("feedback", constants.feedback),
          parameter("measure", measures.empty() ? "none" : measures),
          parameter("window", settings.window),
          parameter("every", settings.every),
          parameter("lag", settings.lag),
          parameter("mip", settings.minimum ? "yes" : "no"),
          parameter("format", NameOf(settings.format)),
          parameter("legacy-json", settings.legacy_json ? "yes" : "no")};
}

std::vector<std::string> ModuleNames() {
  return {"sensory_input", "qualia", "narrative", "meaning_maker", "expectation", "imagination"};
}

RowLayout LayoutOf(const RunSettings& settings) {
  RowLayout layout;
  for (const std::string& name : ModuleNames()) layout.states.push_back("mean_" + name);
  for (const char* name : {"rho_c_norm", "rho_p_norm", "rho_u_norm"}) {
    layout.states.emplace_back(name);
  }
  layout.measures = MeasureNames(settings);
  return layout;
}

}  // namespace reveza::phi
