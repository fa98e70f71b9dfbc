#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/parse_number.h"
#include "phi/cli/commands.h"
#include "phi/cli/measure_output.h"
#include "phi/cli/multiplet_output.h"
#include "phi/cli/phiid_output.h"
#include "phi/measures/estimate.h"
#include "phi/measures/legacy.h"
#include "phi/measures/sliding_windows.h"
#include "phi/measures/whole_series.h"
#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

constexpr std::string_view kShrinkageNote =
    "with shrinkage there is no formula for the bias, nor for p of Granger causality: neither is "
    "given; use --surrogates to test significance";

struct MeasureArguments {
  std::string file, order = "1", shrinkage = "none", surrogate = "auto", complexes, granger;
  std::string bias = "none", missing, multiplets;
  ReadOptions read;
  MeasureSelection selection;
  SignificanceOptions chance;
  PhiIdRequest phiid;
  SlidingOptions sliding;
  int lag = 1, max_order = 10;
  std::uint64_t seed = 1;
  int threads = 1;
  bool legacy = false;
  OutputFormat output;
};

Result<Shrinkage> ShrinkageOf(const std::string& text) {
  auto shrinkage = ParseShrinkage(text);
  if (shrinkage) return shrinkage;
  return Fail(shrinkage.error().code, "--shrinkage: {}", shrinkage.error().message);
}

Result<int> ResolveOrder(const MeasureArguments& arguments, const SeriesTable& table) {
  if (arguments.order == "aic" || arguments.order == "bic") {
    return BestOrder(table.Trials(), arguments.lag, arguments.max_order,
                     arguments.order == "aic" ? OrderCriterion::kAic : OrderCriterion::kBic,
                     table.names);
  }
  const auto order = ParseNumber<int>(arguments.order);
  if (!order || *order < 1) {
    return InvalidArgument("--order: '{}' is invalid; use aic, bic or an integer >= 1",
                           arguments.order);
  }
  return *order;
}

Result<WindowOptions> ResolveOptions(const MeasureArguments& arguments, const SeriesTable& table) {
  auto options = WindowOptionsOf(arguments.selection, table.names);
  if (!options) return options;
  ASSIGN_OR_RETURN(const auto shrinkage, ShrinkageOf(arguments.shrinkage));
  if (arguments.lag < 1)
    return InvalidArgument("--tau: {} is invalid; use an integer >= 1", arguments.lag);
  ASSIGN_OR_RETURN(const auto order, ResolveOrder(arguments, table));
  options->estimate = {
      .lag = arguments.lag, .order = order, .shrinkage = shrinkage, .names = table.names};
  return options;
}

Json DocumentOf(const MeasureArguments& arguments, const SeriesTable& table,
                const WindowOptions& options) {
  return {{"file", arguments.file},           {"rows", table.length()},
          {"trials", table.trials.size()},    {"variables", table.names},
          {"tau", options.estimate.lag},      {"order", options.estimate.order},
          {"shrinkage", arguments.shrinkage}, {"unit", "nats"}};
}

Status AddLegacy(const SeriesTable& table, Json& document, std::string& text) {
  constexpr int kReplicates = 1000;
  ASSIGN_OR_RETURN(const auto value, LegacyAtEnd(table.Trials().back()));
  const auto rows = std::min<std::int64_t>(table.Trials().back().length, kLegacyWindow);
  const LegacyNull null = LegacyNullOf(table.variables(), static_cast<int>(rows), kReplicates, 1);
  document["mean_absolute_correlation"] = {
      {"value", value}, {"null_mean", null.mean}, {"null_low", null.low}, {"null_high", null.high}};
  text += fmt::format(
      "\nmean absolute correlation (legacy phi) {:.4f}; independent noise gives {:.4f} "
      "({:.4f} to {:.4f})\n",
      value, null.mean, null.low, null.high);
  return {};
}

Result<int> RunSliding(const MeasureArguments& arguments, const SeriesTable& table,
                       const WindowOptions& options) {
  SlidingOptions sliding = arguments.sliding;
  sliding.threads = arguments.threads;
  sliding.legacy = arguments.legacy;
  ASSIGN_OR_RETURN(const auto windows, MeasureSliding(table.Trials(), options, sliding));
  Json document = DocumentOf(arguments, table, options);
  document["window"] = sliding.length;
  document["step"] = sliding.step;
  if (arguments.output.json) document["windows"] = ToJson(windows, table.names);
  std::string reading;
  AddReading(table, document, reading);
  // The output is CSV, which other programs read.
  if (!arguments.output.json) fmt::print(stderr, "{}", reading);
  // Windows have no text table; CSV is the default. `phi plot` is for viewing.
  const std::string csv = ToCsv(windows, table.names);
  PrintResult(arguments.output, document, csv, csv);
  return kDone;
}

// What became of the rows of a file before they are measured.
struct Prepared {
  std::int64_t dropped = 0;  // rows with missing values
  SurrogateKind surrogate = SurrogateKind::kShift;
  std::string cut = {};  // CutNote() of the trials
};

// Drops missing values as asked for, and chooses the surrogates. Trials of several lengths that are
// to be permuted are cut to one.
Result<Prepared> Prepare(const MeasureArguments& arguments, SeriesTable& table) {
  Prepared prepared;
  // Gaps do not make trials of one recording.
  const std::size_t recorded = table.trials.size();
  ASSIGN_OR_RETURN(prepared.dropped, ResolveMissing(table, arguments.missing, arguments.file));
  const std::vector<SeriesView> trials = table.Trials();
  ASSIGN_OR_RETURN(prepared.surrogate, ParseSurrogateKind(arguments.surrogate, trials, recorded));
  if (prepared.surrogate != SurrogateKind::kTrials || HaveOneLength(trials)) return prepared;
  const std::int64_t rows = CommonLength(trials);
  table.CutTrials(rows);
  prepared.cut = CutNote(rows, table.trials.size(), trials.size());
  return prepared;
}

// Adds what became of the rows, and the columns that were left out.
void AddPrepared(const Prepared& prepared, const SeriesTable& table, Json& document,
                 std::string& text) {
  if (prepared.dropped > 0) {
    document["rows_dropped"] = prepared.dropped;
    text += fmt::format("{} rows with missing values dropped\n", prepared.dropped);
  }
  if (!prepared.cut.empty()) {
    document["trials_cut"] = prepared.cut;
    text += prepared.cut + '\n';
  }
  AddReading(table, document, text);
}

Result<int> RunWhole(const MeasureArguments& arguments, const SeriesTable& table,
                     const WindowOptions& options, const Prepared& prepared) {
  SignificanceOptions chance = arguments.chance;
  chance.surrogates.kind = prepared.surrogate;
  chance.bias = arguments.bias == "analytic";
  chance.surrogates.seed = chance.bootstrap.seed = arguments.seed;
  chance.surrogates.threads = chance.bootstrap.threads = arguments.threads;
  ProgressLine progress;
  WindowOptions shown = options;
  ShowSearches(progress, shown);
  ASSIGN_OR_RETURN(const auto whole, MeasureWhole(table.Trials(), shown, chance));
  progress.Clear();
  Json document = DocumentOf(arguments, table, options);
  document["samples"] = whole.samples;
  document["shrinkage_used"] = whole.shrinkage;
  document["condition_number"] = whole.model.condition();
  std::string text = fmt::format(
      "{}: {} rows, {} variables ({}); tau {}, order {}: {} pairs of past and present, condition "
      "number {:.4g}{}\n",
      arguments.file, table.length(), table.variables(), fmt::join(table.names, ", "),
      options.estimate.lag, options.estimate.order, whole.samples, whole.model.condition(),
      whole.shrinkage > 0 ? fmt::format(", shrinkage {:.4g}", whole.shrinkage) : "");
  AddPrepared(prepared, table, document, text);
  document["measures"] = ToJson(whole.values, table.names);
  if (chance.surrogates.count > 0) document["surrogate"] = NameOf(chance.surrogates.kind);
  if (whole.model.condition() > GaussianModel::kWarnCondition) {
    text +=
        "warning: nearly singular; some variables are almost determined by the others, so the "
        "values have fewer correct digits than shown\n";
  }
  text += ToTable(whole.values, table.names);
  if (chance.surrogates.count > 0) {
    text += fmt::format("\np: against {} surrogates, {}; not of i, which has no partition\n",
                        chance.surrogates.count, NameOf(chance.surrogates.kind));
  }
  const bool shrunk = whole.shrinkage > 0;
  RETURN_IF_ERROR(AddExtras(whole.model, arguments.complexes, arguments.granger,
                            shrunk ? std::nullopt : std::optional(whole.samples), table.names,
                            document, text));
  PhiIdRequest phiid = arguments.phiid;
  phiid.bias = chance.bias;
  phiid.surrogates = chance.surrogates;
  RETURN_IF_ERROR(AddPhiId(table, options, phiid, document, text));
  if (!whole.bias_note.empty()) {
    document["bias_note"] = whole.bias_note;
    text += fmt::format("\n{}\n", whole.bias_note);
  }
  if (shrunk && (chance.bias || !arguments.granger.empty())) {
    document["note"] = kShrinkageNote;
    text += fmt::format("\n{}\n", kShrinkageNote);
  }
  if (arguments.legacy) {
    RETURN_IF_ERROR(AddLegacy(table, document, text));
  }
  PrintResult(arguments.output, document,
              ToCsv(whole.values, table.names, whole.rows_are_independent), text);
  return kDone;
}

// Measures all subsets of the variables instead.
Result<int> RunMultiplets(const MeasureArguments& arguments, const SeriesTable& table,
                          const Prepared& prepared) {
  MultipletRequest request = {.bias = arguments.bias == "analytic",
                              .surrogates = arguments.chance.surrogates};
  request.options.copula = arguments.multiplets == "copula";
  request.options.names = table.names;
  ASSIGN_OR_RETURN(request.options.shrinkage, ShrinkageOf(arguments.shrinkage));
  request.surrogates.kind = prepared.surrogate;
  request.surrogates.seed = arguments.seed;
  request.surrogates.threads = arguments.threads;
  Json document = {{"file", arguments.file}, {"rows", table.length()}};
  AddPrepared(prepared, table, document, request.notes);
  RETURN_IF_ERROR(PrintMultiplets(table, request, arguments.output, document));
  return kDone;
}

Result<int> RunMeasure(const MeasureArguments& arguments) {
  ASSIGN_OR_RETURN(auto table, ReadSeries(arguments.file, arguments.read));
  // Windows keep their places in time, and those with gaps are empty.
  const bool windows = arguments.sliding.length > 0;
  SeriesTable recorded;
  if (windows && arguments.missing == "drop") recorded = table;
  ASSIGN_OR_RETURN(const Prepared prepared, Prepare(arguments, table));
  if (!arguments.multiplets.empty()) return RunMultiplets(arguments, table, prepared);
  ASSIGN_OR_RETURN(const auto options, ResolveOptions(arguments, table));
  if (!windows) return RunWhole(arguments, table, options, prepared);
  return RunSliding(arguments, recorded.values.empty() ? table : recorded, options);
}

void AddData(CLI::App& options, MeasureArguments& arguments) {
  AddSeries(options, arguments.file, arguments.read, "columns to measure");
  AddOption(options, "--trials", arguments.read.trials, "COLUMN",
            "column that identifies the trial; past and present never span trials");
  AddDefaulted(options, "-t,--tau", arguments.lag, "lag from past to present, in rows", "INT");
  AddDefaulted(options, "--order", arguments.order,
               "number of past rows per variable, or aic or bic to select it", "INT|aic|bic");
  AddDefaulted(options, "--max-order", arguments.max_order,
               "maximum order that aic and bic consider", "INT");
  AddDefaulted(options, "--shrinkage", arguments.shrinkage,
               "shrink correlations towards 0: none, auto (Ledoit-Wolf) or an intensity from 0 "
               "to 1",
               "FLOAT|auto|none");
}

void AddSignificanceOptions(CLI::App& options, MeasureArguments& arguments) {
  auto* const window = AddOption(options, "--window", arguments.sliding.length, "ROWS",
                                 "measure sliding windows, in rows")
                           ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  AddOption(options, "--step", arguments.sliding.step, "ROWS", "rows between windows; default: 1")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->needs(window);
  AddOption(options, "--bias", arguments.bias, "none|analytic",
            "analytic also reports bias-corrected values")
      ->check(CLI::IsMember({"none", "analytic"}))
      ->capture_default_str()
      ->excludes(window);
  auto* const surrogates =
      AddOption(options, "--surrogates", arguments.chance.surrogates.count, "N",
                "test significance against this many surrogates with independent parts")
          ->check(CLI::Range(1, 1000000))
          ->excludes(window);
  AddDefaulted(
      options, "--surrogate", arguments.surrogate,
      "surrogate method: shift (circular), phase (Fourier phase randomisation), iaaft (phases "
      "and values preserved), trials (permutation of trials, cut to one length), or auto: trials "
      "if there are five of one length, and else shift",
      "auto|shift|phase|iaaft|trials")
      ->needs(surrogates);
  auto* const bootstrap = AddOption(options, "--bootstrap", arguments.chance.bootstrap.count, "N",
                                    "95% confidence intervals from this many replicates")
                              ->check(CLI::Range(2, 1000000))
                              ->excludes(window);
  AddOption(options, "--block", arguments.chance.bootstrap.block, "ROWS",
            "bootstrap block length; default: cube root of the number of rows")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->needs(bootstrap);
  AddDefaulted(options, "--seed", arguments.seed, "random seed of surrogates and bootstrap", "INT");
}

// Adds --oinfo, which excludes what does not apply to subsets at equal times.
void AddMultipletOption(CLI::App& options, MeasureArguments& arguments) {
  auto* const multiplets =
      AddOption(
          options, "--oinfo", arguments.multiplets, "gauss|copula",
          "instead of the measures, O-information, S-information, total and dual total "
          "correlation of all subsets of up to 24 columns, from their values (gauss) or their "
          "ranks (copula); --csv prints every subset")
          ->check(CLI::IsMember({"gauss", "copula"}));
  for (const char* other :
       {"--measure", "--partition", "--mip", "--tau", "--order", "--max-order", "--window",
        "--bootstrap", "--complexes", "--granger", "--phiid", "--legacy"}) {
    multiplets->excludes(options.get_option(other));
  }
}

}  // namespace

Action AddMeasureCommand(CLI::App& options) {
  const auto arguments = std::make_shared<MeasureArguments>();
  AddData(options, *arguments);
  AddMeasureSelection(options, arguments->selection);
  AddSignificanceOptions(options, *arguments);
  AddMissing(options, arguments->missing);
  AddExtraOptions(options, arguments->complexes, arguments->granger);
  AddPhiIdOptions(options, arguments->phiid, true);
  for (const char* whole : {"--complexes", "--granger", "--phiid"}) {
    options.get_option(whole)->excludes(options.get_option("--window"));
  }
  options.add_flag("--legacy", arguments->legacy,
                   "also report the mean absolute correlation (legacy phi) with its null");
  AddMultipletOption(options, *arguments);
  AddThreads(options, arguments->threads);
  AddOutputFormat(options, arguments->output, "print CSV (the default with --window)");
  options.footer(
      "Examples:\n"
      "  phi measure eeg.csv --columns Fz,Cz,Pz,Oz --mip exhaustive --surrogates 199\n"
      "  phi measure eeg.csv --oinfo copula --surrogates 199\n"
      "docs/phi.md defines the measures. Values are in nats.");
  return [arguments] { return RunMeasure(*arguments); };
}

}  // namespace reveza::phi
