#include "phi/run/legacy_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "common/base/read_file.h"
#include "common/platform/output_file.h"

namespace reveza::phi {
namespace {

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
