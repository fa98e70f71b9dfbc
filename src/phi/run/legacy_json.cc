#include "phi/run/legacy_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file_bytes.h"
#include "platform/output_file.h"

namespace reveza::phi {
namespace {

using nlohmann::ordered_json;

ordered_json OrNull(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

// What the whole says before its records.
ordered_json Head(const RunSettings& settings, const std::string& started, const std::string& ended,
                  const std::vector<double>& phi) {
  ordered_json progression = ordered_json::array();
  double sum = 0;
  for (const double value : phi) {
    progression.push_back(value);
    sum += value;
  }
  const auto of = [&](double value) { return phi.empty() ? ordered_json() : OrNull(value); };
  return {{"total_cycles", settings.cycles},
          {"mode", "reveza"},
          {"start_time", started},
          {"end_time", ended},
          {"phi_progression", progression},
          {"phi_final", of(phi.empty() ? 0 : phi.back())},
          {"phi_max", of(phi.empty() ? 0 : *std::ranges::max_element(phi))},
          {"phi_min", of(phi.empty() ? 0 : *std::ranges::min_element(phi))},
          {"phi_avg", of(sum / static_cast<double>(phi.size()))},
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
  // The original says 0 while there is nothing to measure.
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
  const auto records = FileBytes(path);
  if (!records) return std::unexpected(records.error());
  std::vector<double> phi;
  std::istringstream lines(*records);
  for (std::string line; std::getline(lines, line);) {
    const auto record = ordered_json::parse(line, nullptr, false);
    if (record.is_object()) phi.push_back(record.value("phi", 0.0));
  }
  if (phi.size() != settings.cycles) {
    return Fail(Error::Code::kIncompatible,
                fmt::format("{} has {} records of {} cycles; begin anew with --fresh",
                            path.string(), phi.size(), settings.cycles));
  }
  auto file = platform::OutputFile::Create(*settings.legacy_json);
  if (!file) return std::unexpected(std::move(file).error());
  std::string head = Head(settings, started, ended, phi).dump(1);
  head.resize(head.size() - 2);  // the end of the object and the line before it
  if (auto wrote = file->Append(head + ",\n \"metrics\": ["); !wrote) return wrote;
  bool first = true;
  lines = std::istringstream(*records);
  for (std::string line; std::getline(lines, line); first = false) {
    if (auto wrote = file->Append((first ? "\n  " : ",\n  ") + line); !wrote) return wrote;
  }
  if (auto wrote = file->Append("\n ]\n}\n"); !wrote) return wrote;
  return file->Finish();
}

}  // namespace reveza::phi
