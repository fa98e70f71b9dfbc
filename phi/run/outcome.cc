#include "phi/run/outcome.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <sstream>
#include <system_error>

#include "common/base/error.h"
#include "common/base/read_file.h"
#include "common/platform/output_file.h"
#include "phi/output/rows.h"
#include "phi/run/checkpoint.h"

namespace reveza::phi {
namespace {

Result<std::optional<std::filesystem::path>> FindLeftover(
    const RunSettings& settings, const std::array<std::filesystem::path, 2>& files) {
  auto rows = FindRows(settings.folder);
  if (!rows || *rows) return rows;
  for (const std::filesystem::path& file : files) {
    ASSIGN_OR_RETURN(const auto is_there, FileExists(file));
    if (is_there) return file;
  }
  return std::nullopt;
}

using nlohmann::ordered_json;

ordered_json OrNull(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

// Returns the fields that precede the records. `phi` has a value for each cycle.
ordered_json Head(const RunSettings& settings, const std::string& started, const std::string& ended,
                  const std::vector<double>& phi) {
  const double sum = std::accumulate(phi.begin(), phi.end(), 0.0);
  return {{"total_cycles", settings.cycles},
          {"mode", "reveza"},
          {"start_time", started},
          {"end_time", ended},
          {"phi_progression", phi},
          {"phi_final", OrNull(phi.back())},
          {"phi_max", OrNull(std::ranges::max(phi))},
          {"phi_min", OrNull(std::ranges::min(phi))},
          {"phi_avg", OrNull(sum / static_cast<double>(phi.size()))},
          {"execution_timestamp", ended},
          {"validation_phases", ordered_json::object()},
          {"module_validation", ordered_json::object()},
          {"metadata",
           {{"cycles_in_memory", 0},
            {"cycles_from_old_file", 0},
            {"total_cycles_saved", settings.cycles},
            {"old_metrics_file_used", false}}}};
}

}  // namespace

void MeasureSummary::Add(std::uint64_t cycle, double value) {
  if (std::isnan(value)) return;
  min = count == 0 ? value : std::min(min, value);
  max = count == 0 ? value : std::max(max, value);
  sum += value;
  ++count;
  if (cycle != last_cycle) {
    last_cycle = cycle;
    last_count = 0;
    last_sum = 0;
  }
  last_sum += value;
  ++last_count;
}

std::filesystem::path SummaryPath(const RunSettings& settings) {
  return settings.folder / "summary.json";
}

std::string SummaryText(const RunSettings& settings, std::string_view version,
                        const RunOutcome& outcome) {
  using nlohmann::ordered_json;
  ordered_json parameters = ordered_json::object();
  for (const Parameter& parameter : ParametersOf(settings))
    parameters[parameter.name] = parameter.value;
  ordered_json measures = ordered_json::object();
  const std::vector<std::string> names = MeasureNames(settings);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const MeasureSummary& each = outcome.measures[i];
    ordered_json values = {{"count", each.count}, {"unmeasured", each.unmeasured}};
    if (each.count > 0) {
      values["min"] = each.min;
      values["mean"] = each.Mean();
      values["max"] = each.max;
      values["final"] = each.Final();
    }
    if (names[i] == kLegacyName && outcome.legacy_null) {
      const LegacyNull& null = *outcome.legacy_null;
      values["null"] = {{"mean", null.mean}, {"low", null.low}, {"high", null.high}};
    }
    measures[names[i]] = values;
  }
  ordered_json hashes = ordered_json::array();
  for (const std::uint64_t hash : outcome.hashes) hashes.push_back(fmt::format("{:016x}", hash));
  ordered_json first;
  if (outcome.unmeasured) {
    first = {{"run", outcome.unmeasured->run},
             {"cycle", outcome.unmeasured->cycle},
             {"why", outcome.unmeasured->why}};
  }
  const ordered_json summary = {{"program", "phi"},
                                {"version", version},
                                {"numbers", kNumbersVersion},
                                {"engine", outcome.engine},
                                {"finished", outcome.finished},
                                {"cycles", outcome.cycle},
                                {"runs", settings.engine.runs},
                                {"started", outcome.started},
                                {"total_seconds", outcome.seconds},
                                {"parameters", parameters},
                                {"measures", measures},
                                {"first_unmeasured", first},
                                {"hashes", hashes}};
  return summary.dump(2) + "\n";
}

std::string MeasuresText(const RunSettings& settings, const RunOutcome& outcome) {
  const std::vector<std::string> names = MeasureNames(settings);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const MeasureSummary& each = outcome.measures[i];
    if (each.count > 0) {
      text += fmt::format("{:12} min {:.6f}  mean {:.6f}  max {:.6f}  final {:.6f}\n", names[i],
                          each.min, each.Mean(), each.max, each.Final());
    } else if (each.unmeasured > 0) {
      text += fmt::format("{:12} no value\n", names[i]);
    } else {
      text += fmt::format("{:12} not measured yet: needs {} cycles\n", names[i],
                          names[i] == kLegacyName ? kLegacyMinStates : settings.window);
    }
    if (names[i] == kLegacyName && outcome.legacy_null) {
      text += fmt::format("{:12} independent noise gives about {:.2f} ({:.2f} to {:.2f})\n", "",
                          outcome.legacy_null->mean, outcome.legacy_null->low,
                          outcome.legacy_null->high);
    }
  }
  return text;
}

std::string UnmeasuredText(const RunSettings& settings, const RunOutcome& outcome) {
  if (!outcome.unmeasured) return "";
  const std::vector<std::string> names = MeasureNames(settings);
  std::string counts;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const MeasureSummary& each = outcome.measures[i];
    if (each.unmeasured == 0) continue;
    counts += fmt::format("{}{} of {} of {}", counts.empty() ? "" : ", ", each.unmeasured,
                          each.unmeasured + each.count, names[i]);
  }
  return fmt::format(
      "some windows could not be measured and have empty cells ({}); the first, run {} up to cycle "
      "{}: {}; a longer --window may help",
      counts, outcome.unmeasured->run, outcome.unmeasured->cycle, outcome.unmeasured->why);
}

std::string TimeText() { return fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr))); }

Result<UniqueFd> LockFolder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  UniqueFd file(open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) {
    const int reason = errno;
    const bool refused = reason == EACCES || reason == EPERM || reason == EROFS;
    return Fail(refused ? Error::Code::kPermission : Error::Code::kUnavailable,
                "cannot write to the folder {}: {}", folder.string(), std::strerror(reason));
  }
  int reason = 0;
  do {
    reason = flock(file.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  } while (reason == EINTR);
  if (reason != 0 && reason != EWOULDBLOCK) {
    return std::unexpected(SystemError(fmt::format("cannot lock {}", folder.string()), reason));
  }
  if (reason != 0) {
    return Fail(Error::Code::kUnavailable,
                "another phi process is using {}; wait for it, or use another --output",
                folder.string());
  }
  return file;
}

Status PrepareFolder(const RunSettings& settings) {
  const std::array files = {SummaryPath(settings), LegacyRecordsPath(settings)};
  if (!settings.fresh) {
    ASSIGN_OR_RETURN(const auto found, FindLeftover(settings, files));
    if (!found) return {};
    return Fail(Error::Code::kIncompatible,
                "{} exists without a checkpoint and would be overwritten; use another --output, or "
                "--fresh to replace it",
                found->string());
  }
  RETURN_IF_ERROR(RemoveRows(settings.folder));
  for (const std::filesystem::path& file : files) {
    std::error_code error;
    std::filesystem::remove(file, error);
    if (!error) continue;
    return Fail(Error::Code::kPermission, "cannot remove {}: {}", file.string(), error.message());
  }
  return {};
}

std::filesystem::path LegacyRecordsPath(const RunSettings& settings) {
  return settings.folder / "legacy-records.jsonl";
}

std::string LegacyRecordText(const RunSettings& settings, std::uint64_t cycle,
                             const Observation& observation, double value,
                             const std::string& time) {
  // OmniMind writes 0 until there is a value.
  const double phi = std::isnan(value) ? 0 : value;
  const ordered_json record = {
      {"cycle", cycle},
      {"phi", phi},
      {"timestamp", time},
      {"success", phi > 0},
      {"modules_executed", ModuleNames()},
      {"psi", nullptr},
      {"sigma", nullptr},
      {"gozo", nullptr},
      {"delta", nullptr},
      {"epsilon", nullptr},
      {"control_effectiveness", nullptr},
      {"triad", nullptr},
      {"phi_causal",
       OrNull(observation.rho_correlation < 0 ? kNotAvailable : observation.rho_correlation)},
      {"rho_C_norm", observation.rho_norm[0]},
      {"rho_P_norm", observation.rho_norm[1]},
      {"rho_U_norm", observation.rho_norm[2]},
      {"repression_strength", settings.engine.constants.repression},
      {"bion_metadata", nullptr},
      {"lacan_metadata", nullptr}};
  return record.dump() + "\n";
}

Status WriteLegacyJson(const RunSettings& settings, const std::string& started,
                       const std::string& ended) {
  const auto path = LegacyRecordsPath(settings);
  ASSIGN_OR_RETURN(const auto records, ReadFile(path));
  std::vector<double> phi;
  std::istringstream lines(records);
  for (std::string line; std::getline(lines, line);) {
    const auto record = ordered_json::parse(line, nullptr, false);
    if (record.is_object()) phi.push_back(record.value("phi", 0.0));
  }
  if (phi.size() != settings.cycles) {
    return Fail(Error::Code::kIncompatible,
                "{} has {} records for {} cycles; start over with --fresh", path.string(),
                phi.size(), settings.cycles);
  }
  ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(*settings.legacy_json));
  std::string head = Head(settings, started, ended, phi).dump(1);
  head.resize(head.size() - 2);  // drop "\n}"
  RETURN_IF_ERROR(file.Append(head + ",\n \"metrics\": ["));
  bool first = true;
  lines = std::istringstream(records);
  for (std::string line; std::getline(lines, line); first = false) {
    RETURN_IF_ERROR(file.Append((first ? "\n  " : ",\n  ") + line));
  }
  RETURN_IF_ERROR(file.Append("\n ]\n}\n"));
  return file.Finish();
}

}  // namespace reveza::phi
