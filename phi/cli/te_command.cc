#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "phi/arithmetic/parallel_for.h"
#include "phi/cli/commands.h"
#include "phi/cli/measure_output.h"
#include "phi/discrete/transfer_entropy.h"
#include "phi/measures/continuous_transfer.h"
#include "phi/measures/significance.h"
#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

struct TeArguments {
  std::string file, estimator = "discrete";
  std::vector<std::string> sources, targets, given;
  ReadOptions read;
  int bins = 4;
  int neighbours = 4;
  int threads = 1;
  OutputFormat output;
  TransferOptions options;
};

// The transfer entropy between two sets of columns.
struct Transfer {
  TransferColumns columns;
  double nats = 0.0;
  std::optional<double> corrected = {};
  std::int64_t samples = 0;
  std::int64_t states = 0;  // of the discrete estimator
  std::optional<double> null_mean = {}, p = {}, q = {};
};

Result<std::vector<std::vector<int>>> Binned(const SeriesTable& table,
                                             const TeArguments& arguments) {
  std::vector<Result<std::vector<int>>> found(table.names.size());
  ParallelFor(arguments.threads, found.size(), [&] {
    return [&](std::size_t column) {
      std::vector<double> values;
      values.reserve(table.values.size() / table.names.size());
      for (std::size_t i = column; i < table.values.size(); i += table.names.size()) {
        values.push_back(table.values[i]);
      }
      found[column] = QuantileBins(values, arguments.bins);
    };
  });
  std::vector<std::vector<int>> binned;
  for (std::size_t column = 0; column < found.size(); ++column) {
    if (!found[column]) {
      return Fail(found[column].error().code, "{}: {}", table.names[column],
                  found[column].error().message);
    }
    binned.push_back(*std::move(found[column]));
  }
  return binned;
}

// Finds columns of the table by name or index.
Result<std::vector<int>> Find(const std::vector<std::string>& wanted, const SeriesTable& table,
                              const TeArguments& arguments) {
  if (wanted.empty()) return std::vector<int>();
  ASSIGN_OR_RETURN(const auto found,
                   SelectColumns(table.names, arguments.file, {.columns = wanted}));
  return std::vector<int>(found.chosen.begin(), found.chosen.end());
}

bool Holds(const std::vector<int>& columns, int column) {
  return std::ranges::find(columns, column) != columns.end();
}

// Returns the transfers to compute: between the sets that are named, or all ordered pairs.
Result<std::vector<Transfer>> TransfersOf(const SeriesTable& table, const TeArguments& arguments) {
  const bool all_others = arguments.given == std::vector<std::string>{"all"};
  TransferColumns sets;
  ASSIGN_OR_RETURN(sets.sources, Find(arguments.sources, table, arguments));
  ASSIGN_OR_RETURN(sets.targets, Find(arguments.targets, table, arguments));
  if (!all_others) {
    ASSIGN_OR_RETURN(sets.given, Find(arguments.given, table, arguments));
  }
  std::vector<int> all = sets.sources;
  all.insert(all.end(), sets.targets.begin(), sets.targets.end());
  all.insert(all.end(), sets.given.begin(), sets.given.end());
  std::ranges::sort(all);
  if (const auto twice = std::ranges::adjacent_find(all); twice != all.end()) {
    return InvalidArgument("'{}' is used twice, as source, target or given",
                           table.names[static_cast<std::size_t>(*twice)]);
  }
  std::vector<Transfer> transfers;
  if (!sets.sources.empty()) transfers.push_back({.columns = sets});
  for (int from = 0; sets.sources.empty() && from < table.variables(); ++from) {
    for (int to = 0; to < table.variables(); ++to) {
      if (from == to || Holds(sets.given, from) || Holds(sets.given, to)) continue;
      transfers.push_back({.columns = {.sources = {from}, .targets = {to}, .given = sets.given}});
    }
  }
  if (transfers.empty()) {
    return InvalidArgument("--given leaves fewer than two columns for sources and targets");
  }
  for (Transfer& transfer : transfers) {
    for (int column = 0; all_others && column < table.variables(); ++column) {
      if (Holds(transfer.columns.sources, column)) continue;
      if (!Holds(transfer.columns.targets, column)) transfer.columns.given.push_back(column);
    }
  }
  return transfers;
}

Status FindContinuous(const SeriesTable& table, const TeArguments& arguments, Transfer& transfer) {
  const ContinuousTransferOptions options = {
      .estimator = arguments.estimator == "gauss" ? ContinuousTransferOptions::Estimator::kGauss
                                                  : ContinuousTransferOptions::Estimator::kKsg,
      .target_history = arguments.options.target_history,
      .source_history = arguments.options.source_history,
      .delay = arguments.options.delay,
      .neighbours = arguments.neighbours,
      .surrogates = arguments.options.surrogates,
      .seed = arguments.options.seed,
      .names = table.names};
  ASSIGN_OR_RETURN(const auto found,
                   ContinuousTransferOf(table.Trials(), transfer.columns, options));
  transfer.nats = found.nats;
  transfer.corrected = found.corrected;
  transfer.samples = found.samples;
  transfer.null_mean = found.null_mean;
  transfer.p = found.p;
  return {};
}

// Returns the symbols of one column, or of several together, which are made in `joint`.
std::span<const int> SymbolsOf(const std::vector<std::vector<int>>& binned,
                               const std::vector<int>& of, std::vector<int>& joint) {
  if (of.size() == 1) return binned[static_cast<std::size_t>(of.front())];
  std::vector<std::vector<int>> series;
  for (const int column : of) series.push_back(binned[static_cast<std::size_t>(column)]);
  if (!series.empty()) joint = JointSymbols(series);
  return joint;
}

Status FindDiscrete(const std::vector<std::vector<int>>& binned, const TransferOptions& options,
                    Transfer& transfer) {
  std::vector<int> sources, targets, given;
  ASSIGN_OR_RETURN(const auto found,
                   TransferEntropyOf(SymbolsOf(binned, transfer.columns.sources, sources),
                                     SymbolsOf(binned, transfer.columns.targets, targets),
                                     SymbolsOf(binned, transfer.columns.given, given), options));
  transfer.nats = found.plug_in;
  transfer.corrected = found.corrected;
  transfer.samples = found.samples;
  transfer.states = found.states;
  transfer.null_mean = found.null_mean;
  transfer.p = found.p;
  return {};
}

Status FindAll(const SeriesTable& table, const TeArguments& arguments,
               std::vector<Transfer>& transfers) {
  std::vector<std::vector<int>> binned;
  const bool discrete = arguments.estimator == "discrete";
  if (discrete) {
    ASSIGN_OR_RETURN(binned, Binned(table, arguments));
  }
  std::vector<Status> done(transfers.size());
  ParallelFor(arguments.threads, transfers.size(), [&] {
    return [&](std::size_t i) {
      done[i] = discrete ? FindDiscrete(binned, arguments.options, transfers[i])
                         : FindContinuous(table, arguments, transfers[i]);
    };
  });
  for (const Status& status : done) RETURN_IF_ERROR(status);
  if (!transfers.front().p) return {};
  std::vector<double> p;
  for (const Transfer& transfer : transfers) p.push_back(*transfer.p);
  const std::vector<double> adjusted = AdjustedP(p);
  for (std::size_t i = 0; i < adjusted.size(); ++i) transfers[i].q = adjusted[i];
  return {};
}

std::string NameList(const std::vector<int>& columns, const Names& names) {
  std::vector<std::string> chosen;
  for (const int column : columns) chosen.push_back(names[static_cast<std::size_t>(column)]);
  return fmt::format("{}", fmt::join(chosen, ","));
}

std::string Note(const TeArguments& arguments, std::int64_t samples) {
  std::string note = "transfer entropy";
  if (arguments.estimator == "discrete") {
    note += fmt::format(" with {} quantile bins; corrected: Miller-Madow", arguments.bins);
  } else if (arguments.estimator == "gauss") {
    note += " of Gaussian variables; corrected: less the bias of independent rows";
  } else {
    note += fmt::format(" from {} nearest neighbours", arguments.neighbours);
  }
  note += fmt::format("; target history {}, source history {}, delay {}; {} samples",
                      arguments.options.target_history, arguments.options.source_history,
                      arguments.options.delay, samples);
  if (arguments.options.surrogates > 0) {
    note += fmt::format("\np: against {} shifts of the source", arguments.options.surrogates);
  } else if (arguments.estimator == "gauss") {
    note += "\np: by the chi-square distribution";
  } else {
    return note + '\n';
  }
  return note + "; q: p adjusted for the false discovery rate (Benjamini-Hochberg)\n";
}

std::string ToText(const std::vector<Transfer>& transfers, const SeriesTable& table,
                   const TeArguments& arguments) {
  const auto optional = [](const std::optional<double>& value, int digits) {
    return value ? fmt::format("{:.{}f}", *value, digits) : std::string();
  };
  const auto probability = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.3g}", *value) : std::string();
  };
  std::vector<std::vector<std::string>> rows = {
      {"from", "to", "given", "nats", "corrected", "null mean", "p", "q"}};
  for (const Transfer& transfer : transfers) {
    rows.push_back({NameList(transfer.columns.sources, table.names),
                    NameList(transfer.columns.targets, table.names),
                    NameList(transfer.columns.given, table.names),
                    fmt::format("{:.6f}", transfer.nats), optional(transfer.corrected, 6),
                    optional(transfer.null_mean, 6), probability(transfer.p),
                    probability(transfer.q)});
  }
  // A column of which nothing is known has no heading.
  for (std::size_t column = 0; column < rows.front().size(); ++column) {
    const auto empty = [&](const auto& row) { return row[column].empty(); };
    if (std::all_of(rows.begin() + 1, rows.end(), empty)) rows.front()[column].clear();
  }
  return Aligned(rows) + '\n' + Note(arguments, transfers.front().samples);
}

std::string ToCsv(const std::vector<Transfer>& transfers, const SeriesTable& table) {
  std::string text = "from,to,given,nats,corrected,null_mean,p,q\n";
  const auto optional = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  for (const Transfer& transfer : transfers) {
    text += fmt::format("{},{},{},{},{},{},{},{}\n",
                        Quoted(NameList(transfer.columns.sources, table.names)),
                        Quoted(NameList(transfer.columns.targets, table.names)),
                        Quoted(NameList(transfer.columns.given, table.names)), transfer.nats,
                        optional(transfer.corrected), optional(transfer.null_mean),
                        optional(transfer.p), optional(transfer.q));
  }
  return text;
}

Json ToJson(const std::vector<Transfer>& transfers, const SeriesTable& table,
            const TeArguments& arguments) {
  const bool discrete = arguments.estimator == "discrete";
  Json document = {{"estimator", arguments.estimator}};
  if (discrete) {
    document["bins"] = arguments.bins;
    document["binning"] = "quantiles";
    document["bias_correction"] = "Miller-Madow";
  }
  if (arguments.estimator == "ksg") document["neighbours"] = arguments.neighbours;
  document["target_history"] = arguments.options.target_history;
  document["source_history"] = arguments.options.source_history;
  document["delay"] = arguments.options.delay;
  document["unit"] = "nats";
  document["pairs"] = Json::array();
  const auto optional = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  for (const Transfer& transfer : transfers) {
    Json row = {{"from", NameList(transfer.columns.sources, table.names)},
                {"to", NameList(transfer.columns.targets, table.names)},
                {"nats", transfer.nats},
                {"corrected", optional(transfer.corrected)},
                {"samples", transfer.samples},
                {"null_mean", optional(transfer.null_mean)},
                {"p", optional(transfer.p)},
                {"q", optional(transfer.q)}};
    if (!transfer.columns.given.empty()) {
      row["given"] = NameList(transfer.columns.given, table.names);
    }
    if (discrete) {
      row["plug_in"] = transfer.nats;
      row["states"] = transfer.states;
    }
    document["pairs"].push_back(std::move(row));
  }
  return document;
}

Result<int> RunTe(const TeArguments& arguments) {
  ASSIGN_OR_RETURN(const auto table, ReadSeries(arguments.file, arguments.read));
  if (const std::string missing = table.FirstMissing(); !missing.empty()) {
    return InvalidArgument("{} {}; leave out or fill in such rows", arguments.file, missing);
  }
  if (table.trials.size() > 1 && arguments.estimator == "discrete") {
    return InvalidArgument(
        "{} has {} trials, and the discrete estimator takes a single one; pass one trial per file, "
        "or use --estimator gauss or ksg",
        arguments.file, table.trials.size());
  }
  if (table.names.size() < 2) {
    return InvalidArgument("{} has one column; transfer entropy needs at least two",
                           arguments.file);
  }
  ASSIGN_OR_RETURN(auto transfers, TransfersOf(table, arguments));
  RETURN_IF_ERROR(FindAll(table, arguments, transfers));
  const Json document =
      arguments.output.json ? ToJson(transfers, table, arguments) : Json::object();
  PrintResult(arguments.output, document, ToCsv(transfers, table),
              ToText(transfers, table, arguments));
  return kDone;
}

void AddSets(CLI::App& options, TeArguments& arguments) {
  auto* const sources = AddOption(options, "--source", arguments.sources, "COLUMN,...",
                                  "measure from these columns together, instead of all pairs")
                            ->delimiter(',');
  auto* const targets = AddOption(options, "--target", arguments.targets, "COLUMN,...",
                                  "measure to these columns together")
                            ->delimiter(',');
  sources->needs(targets);
  targets->needs(sources);
  AddOption(
      options, "--given", arguments.given, "COLUMN,...",
      "condition on the past of these columns, or of all others (all), at the times of the source")
      ->delimiter(',');
}

}  // namespace

Action AddTeCommand(CLI::App& options) {
  const auto arguments = std::make_shared<TeArguments>();
  constexpr int kMaxCount = 1'000'000;
  AddSeries(options, arguments->file, arguments->read.columns, "columns to use");
  AddOption(options, "--trials", arguments->read.trials, "COLUMN",
            "column that identifies the trial; past and present never span trials");
  AddOption(options, "--estimator", arguments->estimator, "discrete|gauss|ksg",
            "counts of discretised values, Gaussian variables, or nearest neighbours")
      ->check(CLI::IsMember({"discrete", "gauss", "ksg"}))
      ->capture_default_str();
  AddSets(options, *arguments);
  AddDefaulted(options, "--bins", arguments->bins, "quantile bins per column", "N")
      ->check(CLI::Range(2, 1 << 16));
  AddDefaulted(options, "--neighbours", arguments->neighbours, "nearest neighbours of ksg", "N")
      ->check(CLI::Range(1, kMaxCount));
  AddDefaulted(options, "-k,--target-history", arguments->options.target_history,
               "past values of the target", "N")
      ->check(CLI::Range(1, 62));
  AddDefaulted(options, "-l,--source-history", arguments->options.source_history,
               "past values of the source", "N")
      ->check(CLI::Range(1, 62));
  AddDefaulted(options, "-u,--delay", arguments->options.delay,
               "steps from the latest value of the source to the target's present", "N")
      ->check(CLI::Range(1, kMaxCount));
  AddDefaulted(options, "--surrogates", arguments->options.surrogates,
               "test significance against this many circular shifts of the source", "N")
      ->check(CLI::Range(0, kMaxCount));
  AddDefaulted(options, "--seed", arguments->options.seed, "random seed of surrogates", "INT");
  AddThreads(options, arguments->threads);
  AddOutputFormat(options, arguments->output, "print CSV");
  options.footer(
      "Examples:\n"
      "  phi te spikes.csv --bins 2 --target-history 3 --surrogates 99\n"
      "  phi te eeg.csv --estimator ksg --given all --surrogates 99");
  return [arguments] { return RunTe(*arguments); };
}

}  // namespace reveza::phi
