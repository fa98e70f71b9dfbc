#include "fraudgen/check/origin.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "fraudgen/model/model.h"

namespace reveza::fraudgen::check {
namespace {

// Returns what is different, if it is more than the version of the program and its libraries.
std::string SettingsDifference(const MadeBy& there, const MadeBy& here) {
  MadeBy rest = there;
  rest.program = here.program;
  rest.arrow = here.arrow;
  rest.zstd = here.zstd;
  rest.configuration = here.configuration;
  if (rest != here) return DifferenceOf(rest, here);
  return there.configuration == here.configuration ? "" : "the settings differ";
}

}  // namespace

Result<Origin> FindOrigin(const DataSet& data, int threads, const OnPreparing& on_preparing) {
  const MadeBy& there = data.made_by;
  Origin origin;
  origin.outcome.name = fmt::format("settings: {} gives the data set", data.settings_name);
  const auto cannot = [&](Outcome::Verdict verdict, std::string why) {
    origin.outcome.verdict = verdict;
    origin.outcome.detail = std::move(why);
    return std::move(origin);
  };
  if (there.model_version < kModelVersion) {
    return cannot(Outcome::Verdict::kSkipped,
                  fmt::format("made by {} with version {} of its models, and this program has "
                              "version {}, so rows cannot be made again; `fraudgen check --sql` "
                              "prints rules for them",
                              there.program, there.model_version, kModelVersion));
  }
  ASSIGN_OR_RETURN(const auto text, data.place->ReadSmall(data.settings_name));
  if (!text) {
    return cannot(
        Outcome::Verdict::kFailed,
        "not found, so rows cannot be made again; `fraudgen check --sql` prints rules for "
        "them");
  }
  SettingsBuilder builder;
  const Status added = builder.AddText(*text, data.settings_name);
  const Result<Settings> settings = added ? builder.Build() : std::unexpected(added.error());
  if (!settings) return cannot(Outcome::Verdict::kFailed, settings.error().message);
  auto run = PrepareRun(*settings, {}, threads, on_preparing);
  if (!run && run.error().code == Error::Code::kUnavailable) return std::unexpected(run.error());
  if (!run) return cannot(Outcome::Verdict::kFailed, run.error().message);
  const MadeBy here = run->Options(threads).made_by;
  if (const std::string difference = SettingsDifference(there, here); !difference.empty()) {
    return cannot(Outcome::Verdict::kFailed,
                  fmt::format("not the settings in the manifests: {}", difference));
  }
  if (there != here) origin.same = Origin::Same::kRows;
  origin.outcome.detail = there == here ? "1 checked"
                                        : fmt::format(
                                              "written by other versions ({}): values are "
                                              "compared, not bytes",
                                              DifferenceOf(there, here));
  origin.run.emplace(*std::move(run));
  return origin;
}

}  // namespace reveza::fraudgen::check
