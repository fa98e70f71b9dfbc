#include "phi/cli/phiid_output.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "common/platform/output_file.h"
#include "phi/cli/commands.h"

namespace reveza::phi {
namespace {

// What is known of each atom.
struct Atoms {
  PhiIdRedundancy redundancy = PhiIdRedundancy::kMmi;
  Partition partition;
  PhiIdAtoms mean = {};
  std::optional<PhiIdAtoms> bias = {};
  std::array<std::optional<Significance>, kPhiIdAtoms.size()> tests = {};
};

Json ToJson(const Atoms& atoms, const Names& names) {
  Json rows;
  for (std::size_t i = 0; i < kPhiIdAtoms.size(); ++i) {
    Json row = {{"nats", atoms.mean[i]}, {"mode", PhiIdModeOf(i)}};
    if (atoms.bias) row["less_bias"] = atoms.mean[i] - (*atoms.bias)[i];
    if (const auto& test = atoms.tests[i]) {
      row["surrogates"] = {{"p", test->p},
                           {"null_mean", test->null_mean},
                           {"null_95_percent", test->null_high},
                           {"count", test->surrogates}};
    }
    rows[std::string(kPhiIdAtoms[i])] = std::move(row);
  }
  return {{"redundancy", NameOf(atoms.redundancy)},
          {"partition", atoms.partition.Text(names)},
          {"atoms", std::move(rows)},
          {"phi_r", PhiRFrom(atoms.mean)}};
}

std::string ToText(const Atoms& atoms, const Names& names) {
  const bool tested = atoms.tests.front().has_value();
  std::vector<std::vector<std::string>> rows = {{"atom", "nats", atoms.bias ? "bias-corrected" : "",
                                                 tested ? "null 95%" : "", tested ? "p" : "",
                                                 "mode"}};
  for (std::size_t i = 0; i < kPhiIdAtoms.size(); ++i) {
    const auto& test = atoms.tests[i];
    rows.push_back({std::string(kPhiIdAtoms[i]), Nats(atoms.mean[i]),
                    atoms.bias ? Nats(atoms.mean[i] - (*atoms.bias)[i]) : "",
                    test ? fmt::format("{:.4f}", test->null_high) : "",
                    test ? fmt::format("{:.4g}", test->p) : "", std::string(PhiIdModeOf(i))});
  }
  const auto& parts = atoms.partition.Text(names);
  return fmt::format(
      "\nintegrated information decomposition by {}, x: {}, y: {}\n{}"
      "sts + stx + sty + str + xts + yts + rts + xty + ytx{}: {}\n",
      NameOf(atoms.redundancy), parts.substr(0, parts.find('|')), parts.substr(parts.find('|') + 1),
      Aligned(rows), atoms.redundancy == PhiIdRedundancy::kMmi ? " = phi_r" : "",
      Nats(PhiRFrom(atoms.mean)));
}

Status WriteLocal(const std::string& path, const SeriesTable& table,
                  const EstimateOptions& estimate, const std::vector<PhiIdAtoms>& local) {
  std::string text = table.lines.empty() ? "row" : "line";
  for (const std::string_view atom : kPhiIdAtoms) text += fmt::format(",{}", atom);
  text += '\n';
  auto atoms = local.begin();
  for (std::size_t trial = 0; trial < table.trials.size(); ++trial) {
    const bool last = trial + 1 == table.trials.size();
    const std::int64_t end = last ? table.length() : table.trials[trial + 1];
    std::int64_t row = table.trials[trial] + estimate.lag + estimate.order - 1;
    for (; row < end && atoms != local.end(); ++row, ++atoms) {
      text += fmt::format("{}", table.PlaceOf(row));
      for (const double value : *atoms) text += fmt::format(",{}", value);
      text += '\n';
    }
  }
  ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(path));
  RETURN_IF_ERROR(file.Append(text));
  return file.Finish();
}

}  // namespace

void AddPhiIdOptions(CLI::App& options, PhiIdRequest& request, bool series) {
  auto* const phiid =
      AddOption(options, "--phiid", request.redundancy, series ? "mmi|ccs" : "mmi",
                "also decompose the information of the past about the present into 16 atoms "
                "(PhiID) of two parts, with redundancy as minimum mutual information (mmi) or "
                "common change in surprisal (ccs: of series only)")
          ->check(CLI::IsMember(series ? std::vector<std::string>{"mmi", "ccs"}
                                       : std::vector<std::string>{"mmi"}));
  if (!series) return;
  AddOption(options, "--phiid-local", request.local_file, "FILE",
            "write the atoms of each pair of past and present as CSV")
      ->needs(phiid);
}

Status AddPhiId(const SeriesTable& table, const WindowOptions& options, const PhiIdRequest& request,
                Json& document, std::string& text) {
  if (request.redundancy.empty()) return {};
  PhiIdOptions decomposition = {.estimate = options.estimate,
                                .partition = options.partition,
                                .search = options.minimum.value_or(SearchOptions{}),
                                .local = !request.local_file.empty()};
  ASSIGN_OR_RETURN(decomposition.redundancy, ParsePhiIdRedundancy(request.redundancy));
  const std::vector<SeriesView> trials = table.Trials();
  ASSIGN_OR_RETURN(auto found, DecomposeSeries(trials, decomposition));
  Atoms atoms = {.redundancy = decomposition.redundancy,
                 .partition = std::move(found.partition),
                 .mean = found.mean};
  // Only of mmi without shrinkage the bias has a formula, and not of a minimum over partitions.
  const bool searched = !options.partition && table.variables() > 2;
  if (request.bias && decomposition.redundancy == PhiIdRedundancy::kMmi && !searched) {
    ASSIGN_OR_RETURN(const auto estimate, EstimateModel(trials, options.estimate));
    if (estimate.shrinkage == 0.0) {
      atoms.bias = PhiIdBias(estimate.model, atoms.partition, estimate.samples);
    }
  }
  if (request.surrogates.count > 0) {
    ASSIGN_OR_RETURN(atoms.tests, TestPhiId(trials, decomposition, found.mean, request.surrogates));
  }
  document["phiid"] = ToJson(atoms, table.names);
  text += ToText(atoms, table.names);
  if (request.local_file.empty()) return {};
  document["phiid"]["local"] = request.local_file;
  return WriteLocal(request.local_file, table, options.estimate, found.local);
}

Status AddPhiId(const GaussianModel& model, const WindowOptions& options,
                const PhiIdRequest& request, const Names& names, Json& document,
                std::string& text) {
  if (request.redundancy.empty()) return {};
  std::optional<Partition> partition = options.partition;
  if (!partition) {
    PartitionSearch search(model, options.minimum.value_or(SearchOptions{}));
    ASSIGN_OR_RETURN(auto found, search.Minimum(Measure::kPhiR));
    partition = std::move(found.partition);
  }
  ASSIGN_OR_RETURN(const auto mean, PhiIdOf(model, *partition));
  const Atoms atoms = {.partition = *std::move(partition), .mean = mean};
  document["phiid"] = ToJson(atoms, names);
  text += ToText(atoms, names);
  return {};
}

}  // namespace reveza::phi
