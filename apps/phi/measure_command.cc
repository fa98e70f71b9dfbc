#include "measure_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "exit_status.h"
#include "free_memory.h"
#include "measure_options.h"
#include "measure_output.h"
#include "measure_series.h"

namespace reveza::phi {
namespace {

constexpr std::string_view kShrunk =
    "with shrinkage there is no formula for the bias, nor for p of Granger causality: neither is "
    "given; --surrogates tell chance from influence";

struct Typed {
  std::string file, order = "1", shrinkage = "none", surrogate = "shift", complexes, granger;
  std::string bias = "none";
  ReadOptions read;
  MeasureChoice choice;
  ChanceOptions chance;
  Sliding sliding;
  int lag = 1, most_order = 10;
  std::uint64_t seed = 1;
  int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  bool legacy = false, json = false, csv = false;
};

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

template <typename T>
std::optional<T> NumberOf(const std::string& text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<Shrinkage> ShrinkageAsked(const std::string& text) {
  if (text == "none") return Shrinkage{};
  if (text == "auto") return Shrinkage{.kind = Shrinkage::Kind::kAutomatic, .amount = 0};
  const auto amount = NumberOf<double>(text);
  if (!amount || !(*amount >= 0.0 && *amount <= 1.0)) {
    return Wrong(fmt::format("--shrinkage: '{}' is none of none, auto and 0 to 1", text));
  }
  return Shrinkage{.kind = Shrinkage::Kind::kAmount, .amount = *amount};
}

Result<int> OrderAsked(const Typed& typed, const SeriesTable& table) {
  if (typed.order == "aic" || typed.order == "bic") {
    return BestOrder(table.Trials(), typed.lag, typed.most_order,
                     typed.order == "aic" ? OrderCriterion::kAic : OrderCriterion::kBic);
  }
  const auto order = NumberOf<int>(typed.order);
  if (!order || *order < 1) {
    return Wrong(fmt::format("--order: '{}' is none of aic, bic and 1, 2, ...", typed.order));
  }
  return *order;
}

Result<WindowOptions> OptionsAsked(const Typed& typed, const SeriesTable& table) {
  auto options = WindowOptionsOf(typed.choice, table.variables(), table.names);
  if (!options) return options;
  const auto shrinkage = ShrinkageAsked(typed.shrinkage);
  if (!shrinkage) return std::unexpected(shrinkage.error());
  if (typed.lag < 1) return Wrong(fmt::format("--tau: {} is not 1 or more", typed.lag));
  const auto order = OrderAsked(typed, table);
  if (!order) return std::unexpected(order.error());
  options->estimate = {.lag = typed.lag, .order = *order, .shrinkage = *shrinkage};
  return options;
}

Json DocumentOf(const Typed& typed, const SeriesTable& table, const WindowOptions& options) {
  return {{"file", typed.file},
          {"rows", table.length()},
          {"trials", table.trials.size()},
          {"variables", table.names},
          {"tau", options.estimate.lag},
          {"order", options.estimate.order},
          {"shrinkage", typed.shrinkage},
          {"unit", "nats"}};
}

Status AddLegacy(const SeriesTable& table, Json& document, std::string& text) {
  constexpr int kReplicates = 1000;
  const auto value = LegacyAtEnd(table.Trials().back());
  if (!value) return std::unexpected(value.error());
  const auto rows = std::min<std::int64_t>(table.Trials().back().length, kLegacyWindow);
  const LegacyNull null = LegacyNullOf(table.variables(), static_cast<int>(rows), kReplicates, 1);
  document["mean_absolute_correlation"] = {{"value", *value},
                                           {"null_mean", null.mean},
                                           {"null_low", null.low},
                                           {"null_high", null.high}};
  text += fmt::format(
      "\nmean absolute correlation (once called phi) {:.4f}; independent noise gives {:.4f} "
      "({:.4f} to {:.4f})\n",
      *value, null.mean, null.low, null.high);
  return {};
}

int Print(const Typed& typed, const Json& document, const std::string& csv,
          const std::string& text) {
  if (typed.json) {
    fmt::print("{}\n", document.dump(2));
  } else {
    fmt::print("{}", typed.csv ? csv : text);
  }
  return kDone;
}

int RunSliding(const Typed& typed, const SeriesTable& table, const WindowOptions& options) {
  Sliding sliding = typed.sliding;
  sliding.threads = typed.threads;
  sliding.legacy = typed.legacy;
  const auto windows = MeasureSliding(table, options, sliding);
  if (!windows) return Say(windows.error());
  Json document = DocumentOf(typed, table, options);
  document["window"] = sliding.length;
  document["step"] = sliding.step;
  if (typed.json) document["windows"] = JsonOf(*windows, table.names);
  // A table of windows is CSV: what is looked at by eye is drawn.
  const std::string csv = CsvOf(*windows, table.names);
  return Print(typed, document, csv, csv);
}

int RunWhole(const Typed& typed, const SeriesTable& table, const WindowOptions& options) {
  ChanceOptions chance = typed.chance;
  const auto kind = SurrogateKindOf(typed.surrogate);
  if (!kind) return Say(kind.error());
  chance.bias = typed.bias == "analytic";
  chance.surrogates.kind = *kind;
  chance.surrogates.seed = chance.bootstrap.seed = typed.seed;
  chance.surrogates.threads = chance.bootstrap.threads = typed.threads;
  const auto whole = MeasureWhole(table, options, chance);
  if (!whole) return Say(whole.error());
  Json document = DocumentOf(typed, table, options);
  document["samples"] = whole->samples;
  document["shrinkage_used"] = whole->shrinkage;
  document["condition_number"] = whole->model.condition();
  document["measures"] = JsonOf(whole->values, table.names);
  std::string text = fmt::format(
      "{}: {} rows, {} variables ({}); tau {}, order {}: {} pairs of past and present, condition "
      "number {:.4g}{}\n",
      typed.file, table.length(), table.variables(), fmt::join(table.names, ", "),
      options.estimate.lag, options.estimate.order, whole->samples, whole->model.condition(),
      whole->shrinkage > 0 ? fmt::format(", shrinkage {:.4g}", whole->shrinkage) : "");
  if (whole->model.condition() > GaussianModel::kManyCondition) {
    text +=
        "nearly singular: some variables hardly say anything that others do not; values are "
        "right to fewer digits than shown\n";
  }
  text += TableOf(whole->values, table.names);
  const bool shrunk = whole->shrinkage > 0;
  auto added =
      AddExtras(whole->model, typed.complexes, typed.granger,
                shrunk ? std::nullopt : std::optional(whole->samples), table.names, document, text);
  if (shrunk && (chance.bias || !typed.granger.empty())) {
    document["note"] = kShrunk;
    text += fmt::format("\n{}\n", kShrunk);
  }
  if (added && typed.legacy) added = AddLegacy(table, document, text);
  if (!added) return Say(added.error());
  return Print(typed, document, CsvOf(whole->values, table.names), text);
}

// How many windows, or replicates of the series, are measured at a time.
int AtOnce(const Typed& typed, const SeriesTable& table) {
  const std::int64_t replicates =
      std::max(typed.chance.surrogates.count, typed.chance.bootstrap.count);
  const std::int64_t windows =
      typed.sliding.length > 0 ? table.length() / typed.sliding.step + 1 : replicates;
  return static_cast<int>(std::clamp<std::int64_t>(windows, 1, typed.threads));
}

int RunMeasure(const Typed& typed) {
  const auto table = ReadSeries(typed.file, typed.read);
  if (!table) return Say(table.error());
  const auto options = OptionsAsked(typed, *table);
  if (!options) return Say(options.error());
  const int at_once = AtOnce(typed, *table);
  if (auto fits = CheckSearches(table->variables(), *options, at_once, FreeMemory()); !fits) {
    return Say(fits.error());
  }
  if (typed.sliding.length > 0) return RunSliding(typed, *table, *options);
  return RunWhole(typed, *table, *options);
}

void AddData(CLI::App& options, Typed& typed) {
  options
      .add_option("FILE", typed.file,
                  "a time series, a row for each time: .csv, .tsv, .txt, .npy, .parquet")
      ->required();
  options
      .add_option("--columns", typed.read.columns,
                  "the columns to measure, by name or number (from 0); all unless given")
      ->delimiter(',')
      ->type_name("NAMES");
  options
      .add_option("--trials", typed.read.trials,
                  "the column that changes where another trial begins")
      ->type_name("NAME");
  options.add_option("-t,--tau", typed.lag, "rows from past to present; 1 unless given")
      ->type_name("N");
  options
      .add_option("--order", typed.order,
                  "past rows that count: 1 unless given, or the best by aic or bic")
      ->type_name("N");
  options.add_option("--max-order", typed.most_order, "the most that aic and bic look at; 10")
      ->type_name("N");
  options
      .add_option("--shrinkage", typed.shrinkage,
                  "draw correlations towards 0: auto, or 0 to 1; none unless given")
      ->type_name("HOW");
}

void AddChanceOptions(CLI::App& options, Typed& typed) {
  auto* const window =
      options.add_option("--window", typed.sliding.length, "measure windows of so many rows")
          ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
          ->type_name("ROWS");
  options.add_option("--step", typed.sliding.step, "rows from window to window; 1 unless given")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->needs(window)
      ->type_name("ROWS");
  options
      .add_option("--bias", typed.bias,
                  "analytic: also the value less its expected bias; none unless given")
      ->check(CLI::IsMember({"none", "analytic"}))
      ->excludes(window);
  auto* const surrogates =
      options
          .add_option("--surrogates", typed.chance.surrogates.count,
                      "test against so many series whose parts are independent")
          ->check(CLI::Range(1, 1000000))
          ->excludes(window)
          ->type_name("N");
  options
      .add_option("--surrogate", typed.surrogate,
                  "made by shift (in a circle, the default) or phase (of Fourier coefficients)")
      ->needs(surrogates)
      ->type_name("KIND");
  auto* const bootstrap = options
                              .add_option("--bootstrap", typed.chance.bootstrap.count,
                                          "intervals of 95 % from so many resampled series")
                              ->check(CLI::Range(2, 1000000))
                              ->excludes(window)
                              ->type_name("N");
  options
      .add_option("--block", typed.chance.bootstrap.block,
                  "rows that the bootstrap keeps together; the cube root of all unless given")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->needs(bootstrap)
      ->type_name("ROWS");
  options.add_option("--seed", typed.seed, "of surrogates and bootstrap; 1 unless given")
      ->type_name("N");
}

}  // namespace

std::function<int()> AddMeasureCommand(CLI::App& options) {
  const auto typed = std::make_shared<Typed>();
  AddData(options, *typed);
  AddMeasureChoice(options, typed->choice);
  AddChanceOptions(options, *typed);
  AddExtraOptions(options, typed->complexes, typed->granger);
  for (const char* whole : {"--complexes", "--granger"}) {
    options.get_option(whole)->excludes(options.get_option("--window"));
  }
  options.add_flag("--legacy", typed->legacy,
                   "the mean absolute correlation that was once called phi too, with its null");
  options.add_option("--threads", typed->threads, "which changes no number")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  auto* const json = options.add_flag("--json", typed->json, "as JSON");
  options.add_flag("--csv", typed->csv, "as CSV (what --window gives anyway)")->excludes(json);
  options.footer("docs/phi.md says what each measure means.");
  return [typed] { return RunMeasure(*typed); };
}

}  // namespace reveza::phi
