#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "phi/cli/commands.h"
#include "phi/cli/measure_output.h"
#include "phi/cli/phiid_output.h"
#include "phi/measures/gaussian.h"
#include "phi/series/model_file.h"

namespace reveza::phi {
namespace {

struct TheoryArguments {
  std::string file, coupling, noise, complexes, granger;
  MeasureSelection selection;
  PhiIdRequest phiid;
  OutputFormat output;
};

Result<ModelMatrices> LoadMatrices(const TheoryArguments& arguments) {
  if (arguments.file.empty() == arguments.coupling.empty()) {
    return InvalidArgument(
        "give either a FILE with matrices or --coupling, such as '0.4,0.4;0.4,0.4'");
  }
  ModelMatrices matrices;
  if (!arguments.file.empty()) {
    ASSIGN_OR_RETURN(matrices, ReadModel(arguments.file));
  } else {
    ASSIGN_OR_RETURN(matrices.coupling, ParseMatrix(arguments.coupling, "--coupling"));
  }
  if (!arguments.noise.empty()) {
    ASSIGN_OR_RETURN(matrices.noise, ParseMatrix(arguments.noise, "--noise"));
  }
  if (!matrices.noise) matrices.noise = Matrix::Identity(matrices.coupling.rows());
  return matrices;
}

Names IndexNames(int variables) {
  Names names;
  for (int i = 0; i < variables; ++i) names.push_back(fmt::format("{}", i));
  return names;
}

Result<int> RunTheory(const TheoryArguments& arguments) {
  ASSIGN_OR_RETURN(const auto matrices, LoadMatrices(arguments));
  ASSIGN_OR_RETURN(const auto model,
                   GaussianModel::FromCoupling(matrices.coupling, *matrices.noise));
  const Names names = IndexNames(model.variables());
  ASSIGN_OR_RETURN(auto options, WindowOptionsOf(arguments.selection, names));
  ProgressLine progress;
  ShowSearches(progress, options);
  ASSIGN_OR_RETURN(auto measured, MeasureModel(model, options));
  progress.Clear();
  std::vector<MeasuredValue> values;
  for (WindowValue& value : measured) values.push_back({.value = std::move(value)});
  const double radius = SpectralRadius(matrices.coupling);
  Json document = {{"variables", model.variables()},
                   {"input_coupling", "from_columns_to_rows"},
                   {"spectral_radius", radius},
                   {"condition_number", model.condition()},
                   {"measures", ToJson(values, names)}};
  std::string text = fmt::format(
      "{} variables, coupling of the input from columns to rows, spectral radius {}, condition "
      "number {:.4g}\n{}",
      model.variables(), RadiusText(radius), model.condition(), ToTable(values, names));
  RETURN_IF_ERROR(AddExtras(model, arguments.complexes, arguments.granger, std::nullopt, names,
                            document, text));
  RETURN_IF_ERROR(AddPhiId(model, options, arguments.phiid, names, document, text));
  PrintResult(arguments.output, document, ToCsv(values, names), text);
  return kDone;
}

}  // namespace

Action AddTheoryCommand(CLI::App& options) {
  const auto arguments = std::make_shared<TheoryArguments>();
  options.add_option("FILE", arguments->file,
                     "matrices of Y = A X + E: TOML with `coupling` and `noise`, or CSV with the "
                     "coupling matrix A (rows: targets, columns: sources)");
  AddOption(options, "--coupling", arguments->coupling, "ROW;...",
            "coupling matrix A instead of FILE, such as '0.4,0.4;0.4,0.4'");
  AddOption(options, "--noise", arguments->noise, "ROW;...", "covariance of E; default: identity");
  AddMeasureSelection(options, arguments->selection);
  AddExtraOptions(options, arguments->complexes, arguments->granger);
  AddPhiIdOptions(options, arguments->phiid, false);
  AddOutputFormat(options, arguments->output, "print CSV");
  options.footer(
      "Example:\n"
      "  phi theory --coupling '0.4,0.4;0.4,0.4' --noise '1,0.9;0.9,1'\n"
      "docs/phi.md defines the measures. Values are in nats.");
  return [arguments] { return RunTheory(*arguments); };
}

}  // namespace reveza::phi
