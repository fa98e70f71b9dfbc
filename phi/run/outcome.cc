#include "phi/run/outcome.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "common/base/error.h"
#include "common/base/read_file.h"
#include "common/platform/output_file.h"
#include "phi/output/rows.h"
#include "phi/run/checkpoint.h"

namespace reveza::phi {
namespace {

// Returns results of an earlier run, if there are any.
Result<std::optional<std::filesystem::path>> FindLeftover(const RunSettings& settings) {
  auto rows = FindRows(settings.folder);
  if (!rows || *rows) return rows;
  const std::filesystem::path summary = SummaryPath(settings);
  ASSIGN_OR_RETURN(const auto is_there, FileExists(summary));
  if (is_there) return summary;
  return std::nullopt;
}

// Returns the null distribution of the i-th of MeasureNames(); nothing for phi_legacy.
std::optional<Significance> NullOf(const RunSettings& settings, const RunOutcome& outcome,
                                   std::size_t i) {
  const std::size_t legacy = settings.legacy ? 1 : 0;
  if (i < legacy || i - legacy >= outcome.nulls.size()) return std::nullopt;
  return outcome.nulls[i - legacy];
}

// Returns what the first window of the measures needs.
std::string WhenMeasured(const RunSettings& settings) {
  const int times = (settings.window + settings.every - 1) / settings.every;
  const int first = times * settings.every;
  std::string text = fmt::format("needs {} cycles", first);
  if (first > settings.window) {
    text += fmt::format(", because windows of {} end at multiples of --every {}", settings.window,
                        settings.every);
  }
  return text;
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
    } else if (const auto null = NullOf(settings, outcome, i)) {
      values["null"] = {{"mean", null->null_mean}, {"high", null->null_high}};
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
      text += fmt::format("{:12} not measured yet: {}\n", names[i],
                          names[i] == kLegacyName ? fmt::format("needs {} cycles", kLegacyMinStates)
                                                  : WhenMeasured(settings));
    }
    if (names[i] == kLegacyName && outcome.legacy_null) {
      text += fmt::format("{:12} independent noise gives about {:.2f} ({:.2f} to {:.2f})\n", "",
                          outcome.legacy_null->mean, outcome.legacy_null->low,
                          outcome.legacy_null->high);
    } else if (const auto null = NullOf(settings, outcome, i)) {
      text += fmt::format("{:12} independent modules give about {:.6f}, 95 % below {:.6f}\n", "",
                          null->null_mean, null->null_high);
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
  if (!settings.fresh) {
    ASSIGN_OR_RETURN(const auto found, FindLeftover(settings));
    if (!found) return {};
    return Fail(Error::Code::kIncompatible,
                "{} exists without a checkpoint and would be overwritten; use another --output, or "
                "--fresh to replace it",
                found->string());
  }
  RETURN_IF_ERROR(RemoveRows(settings.folder));
  const std::filesystem::path summary = SummaryPath(settings);
  std::error_code error;
  std::filesystem::remove(summary, error);
  if (!error) return {};
  return Fail(Error::Code::kPermission, "cannot remove {}: {}", summary.string(), error.message());
}

}  // namespace reveza::phi
