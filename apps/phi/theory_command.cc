#include "theory_command.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "exit_status.h"
#include "free_memory.h"
#include "measure_options.h"
#include "measure_output.h"
#include "phi/measures/gaussian.h"
#include "phi/series/model_file.h"

namespace reveza::phi {
namespace {

struct Typed {
  std::string file, coupling, noise, complexes, granger;
  MeasureChoice choice;
  bool json = false, csv = false;
};

Result<ModelMatrices> MatricesAsked(const Typed& typed) {
  if (typed.file.empty() == typed.coupling.empty()) {
    return Fail(Error::Code::kInvalidArgument,
                "name a FILE with matrices, or write them with --coupling, such as "
                "'0.4,0.4;0.4,0.4'");
  }
  ModelMatrices matrices;
  if (!typed.file.empty()) {
    auto read = ReadModel(typed.file);
    if (!read) return read;
    matrices = *std::move(read);
  } else {
    auto coupling = ParseMatrix(typed.coupling, "--coupling");
    if (!coupling) return std::unexpected(coupling.error());
    matrices.coupling = *std::move(coupling);
  }
  if (!typed.noise.empty()) {
    auto noise = ParseMatrix(typed.noise, "--noise");
    if (!noise) return std::unexpected(noise.error());
    matrices.noise = *std::move(noise);
  }
  if (!matrices.noise) matrices.noise = Matrix::Identity(matrices.coupling.rows());
  return matrices;
}

Names NumberNames(int variables) {
  Names names;
  for (int i = 0; i < variables; ++i) names.push_back(fmt::format("{}", i));
  return names;
}

int RunTheory(const Typed& typed) {
  const auto matrices = MatricesAsked(typed);
  if (!matrices) return Say(matrices.error());
  const auto model = GaussianModel::FromCoupling(matrices->coupling, *matrices->noise);
  if (!model) return Say(model.error());
  const Names names = NumberNames(model->variables());
  const auto options = WindowOptionsOf(typed.choice, model->variables(), names);
  if (!options) return Say(options.error());
  if (auto fits = CheckSearches(model->variables(), *options, 1, FreeMemory()); !fits) {
    return Say(fits.error());
  }
  auto measured = MeasureModel(*model, *options);
  if (!measured) return Say(measured.error());
  std::vector<MeasuredValue> values;
  for (WindowValue& value : *measured) values.push_back({.value = std::move(value)});
  const double radius = SpectralRadius(matrices->coupling);
  Json document = {{"variables", model->variables()},
                   {"spectral_radius", radius},
                   {"condition_number", model->condition()},
                   {"measures", JsonOf(values, names)}};
  std::string text =
      fmt::format("{} variables, spectral radius {:.6g}, condition number {:.4g}\n{}",
                  model->variables(), radius, model->condition(), TableOf(values, names));
  if (const auto status =
          AddExtras(*model, typed.complexes, typed.granger, std::nullopt, names, document, text);
      !status) {
    return Say(status.error());
  }
  if (typed.json) {
    fmt::print("{}\n", document.dump(2));
  } else {
    fmt::print("{}", typed.csv ? CsvOf(values, names) : text);
  }
  return kDone;
}

}  // namespace

std::function<int()> AddTheoryCommand(CLI::App& options) {
  const auto typed = std::make_shared<Typed>();
  options.add_option("FILE", typed->file,
                     "matrices of Y = A X + E: TOML with `coupling` and `noise`, or CSV with the "
                     "coupling A, row by row (row: to, column: from)");
  options.add_option("--coupling", typed->coupling, "A in place of a file: '0.4,0.4;0.4,0.4'")
      ->type_name("ROWS");
  options.add_option("--noise", typed->noise, "covariance of E; the identity unless given")
      ->type_name("ROWS");
  AddMeasureChoice(options, typed->choice);
  AddExtraOptions(options, typed->complexes, typed->granger);
  auto* const json = options.add_flag("--json", typed->json, "as JSON");
  options.add_flag("--csv", typed->csv, "as CSV")->excludes(json);
  return [typed] { return RunTheory(*typed); };
}

}  // namespace reveza::phi
