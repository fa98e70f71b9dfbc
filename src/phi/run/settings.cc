#include "phi/run/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/nearest.h"

namespace reveza::phi {
namespace {

constexpr int kMostWindow = 100'000;

Status UnknownMeasure(std::string_view name) {
  std::vector<std::string_view> names = {kLegacyName};
  std::string list(kLegacyName);
  for (const Measure measure : kAllMeasures) {
    names.push_back(NameOf(measure));
    list += fmt::format(", {}", NameOf(measure));
  }
  return Fail(Error::Code::kInvalidArgument,
              fmt::format("there is no measure '{}' here{}; take some of {}, or all, or none", name,
                          DidYouMean(name, names), list));
}

Status AddMeasure(std::string_view name, RunSettings& settings) {
  if (name == kLegacyName) {
    settings.legacy = true;
    return {};
  }
  for (const Measure measure : kAllMeasures) {
    if (NameOf(measure) != name) continue;
    if (std::ranges::find(settings.measures, measure) == settings.measures.end()) {
      settings.measures.push_back(measure);
    }
    return {};
  }
  return UnknownMeasure(name);
}

Status CheckWhole(std::string_view name, std::int64_t value, std::int64_t least,
                  std::int64_t most) {
  if (value >= least && value <= most) return {};
  return Fail(Error::Code::kInvalidArgument,
              fmt::format("{} is {}; take a number from {} to {}", name, value, least, most));
}

}  // namespace

Status SetMeasures(std::string_view names, RunSettings& settings) {
  settings.legacy = false;
  settings.measures.clear();
  if (names == "none") return {};
  if (names == "all") {
    settings.legacy = true;
    for (const Measure measure : kAllMeasures) settings.measures.push_back(measure);
    return {};
  }
  while (true) {
    const std::size_t comma = names.find(',');
    if (auto added = AddMeasure(names.substr(0, comma), settings); !added) return added;
    if (comma == std::string_view::npos) return {};
    names.remove_prefix(comma + 1);
  }
}

std::vector<std::string> MeasureNames(const RunSettings& settings) {
  std::vector<std::string> names;
  if (settings.legacy) names.emplace_back(kLegacyName);
  for (const Measure measure : settings.measures) names.emplace_back(NameOf(measure));
  return names;
}

Status Prepare(RunSettings& settings) {
  settings.engine.correlation = settings.legacy;
  if (auto checked = CheckSettings(settings.engine); !checked) return checked;
  // A regression of six modules on six needs more rows than that.
  const int least = 2 * kModules + settings.lag + 2;
  for (const Status& status :
       {CheckWhole("--lag", settings.lag, 1, kMostWindow),
        CheckWhole("--window", settings.window, least, kMostWindow),
        CheckWhole("--every", settings.every, 1, std::int64_t{1} << 40),
        CheckWhole("--checkpoint-every", static_cast<std::int64_t>(settings.checkpoint_every), 1,
                   std::int64_t{1} << 40),
        CheckWhole("--cycles", static_cast<std::int64_t>(settings.cycles), 1, 0xffffffff)}) {
    if (!status) return status;
  }
  if (settings.legacy_json && !settings.Keeps()) {
    return Fail(Error::Code::kInvalidArgument,
                "--legacy-json is written from what --output keeps; give a folder there");
  }
  if (settings.legacy_json && !settings.legacy) {
    return Fail(Error::Code::kInvalidArgument,
                "--legacy-json is about phi_legacy; name it in --measure");
  }
  return {};
}

std::vector<Fact> FactsOf(const RunSettings& settings) {
  const EngineSettings& engine = settings.engine;
  const CycleConstants& constants = engine.constants;
  const auto fact = [](std::string_view name, const auto& value) {
    return Fact{std::string(name), fmt::format("{}", value)};
  };
  std::string measures;
  for (const std::string& name : MeasureNames(settings)) {
    measures += (measures.empty() ? "" : ",") + name;
  }
  return {fact("dimension", constants.dimension),
          fact("seed", engine.seed),
          fact("first-run", engine.first_run),
          fact("runs", engine.runs),
          fact("temperature", constants.temperature),
          fact("repression", constants.repression),
          fact("decay", constants.decay),
          fact("least-variance", constants.least_variance),
          fact("feedback", constants.feedback),
          fact("measure", measures.empty() ? "none" : measures),
          fact("window", settings.window),
          fact("every", settings.every),
          fact("lag", settings.lag),
          fact("mip", settings.minimum ? "yes" : "no"),
          fact("format", NameOf(settings.format)),
          fact("legacy-json", settings.legacy_json ? "yes" : "no")};
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
