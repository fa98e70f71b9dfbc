#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "phi/cli/commands.h"
#include "phi/cli/measure_output.h"
#include "phi/series/series_table.h"
#include "phi/series/transfers.h"

namespace reveza::phi {
namespace {

struct TeArguments {
  std::string file, estimator = "discrete", missing;
  std::vector<std::string> sources, targets, given;
  ReadOptions read;
  int bins = 4;
  int neighbours = 4;
  std::int64_t theiler = 0;
  int threads = 1;
  OutputFormat output;
  TransferOptions options;
};

// Finds columns of the table by name or index.
Result<std::vector<int>> Find(const std::vector<std::string>& wanted, const SeriesTable& table,
                              const TeArguments& arguments) {
  if (wanted.empty()) return std::vector<int>();
  ASSIGN_OR_RETURN(const auto found,
                   SelectColumns(table.names, arguments.file, {.columns = wanted}));
  return std::vector<int>(found.chosen.begin(), found.chosen.end());
}

// Returns the arguments with columns found in the table.
Result<TransferRequest> RequestOf(const SeriesTable& table, const TeArguments& arguments,
                                  std::size_t recorded_trials) {
  TransferRequest request = {.given_all_others = arguments.given == std::vector<std::string>{"all"},
                             .bins = arguments.bins,
                             .neighbours = arguments.neighbours,
                             .window = arguments.theiler,
                             .options = arguments.options,
                             .threads = arguments.threads};
  ASSIGN_OR_RETURN(request.estimator, ParseTransferEstimator(arguments.estimator));
  ASSIGN_OR_RETURN(request.surrogate, ParseSurrogateKind("auto", table.Trials(), recorded_trials));
  ASSIGN_OR_RETURN(request.columns.sources, Find(arguments.sources, table, arguments));
  ASSIGN_OR_RETURN(request.columns.targets, Find(arguments.targets, table, arguments));
  if (!request.given_all_others) {
    ASSIGN_OR_RETURN(request.columns.given, Find(arguments.given, table, arguments));
  }
  return request;
}

// Returns where corrected values hold, and for which targets they do not.
std::string CorrectedNote(const std::vector<Transfer>& transfers, const SeriesTable& table,
                          const TeArguments& arguments) {
  if (!transfers.front().corrected) return "";
  std::string note = arguments.options.surrogates == 0 && arguments.estimator == "gauss"
                         ? "corrected values and p"
                         : "corrected values";
  note += " hold if the target depends on no more of its past than its history";
  Names others;
  for (const Transfer& transfer : transfers) {
    const std::string target = NameList(transfer.columns.targets, table.names);
    if (transfer.histories_suffice || std::ranges::count(others, target) > 0) continue;
    others.push_back(target);
  }
  if (others.empty()) return note;
  return note + fmt::format("; do not use those to {}, which does", fmt::join(others, "; "));
}

std::string Note(const TeArguments& arguments, const TransferRequest& request,
                 std::int64_t samples) {
  std::string note = "transfer entropy";
  if (arguments.estimator == "discrete") {
    note += fmt::format(" with {} quantile bins; corrected: Miller-Madow", arguments.bins);
  } else if (arguments.estimator == "gauss") {
    note += " of Gaussian variables; corrected: less the bias of independent rows";
  } else {
    note += fmt::format(" from {} nearest neighbours", arguments.neighbours);
    if (arguments.theiler > 0) note += fmt::format(" more than {} rows away", arguments.theiler);
  }
  note += fmt::format("; target history {}, source history {}, delay {}; {} samples",
                      arguments.options.target_history, arguments.options.source_history,
                      arguments.options.delay, samples);
  if (arguments.options.surrogates > 0) {
    note += fmt::format("\np: against {} surrogates of the source, {}",
                        arguments.options.surrogates, NameOf(request.surrogate));
  } else if (arguments.estimator == "gauss") {
    note += "\np: by the chi-square distribution";
  } else {
    return note + '\n';
  }
  return note + "; q: p adjusted for the false discovery rate (Benjamini-Hochberg)\n";
}

std::string ToText(const std::vector<Transfer>& transfers, const SeriesTable& table,
                   const TeArguments& arguments, const TransferRequest& request) {
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
  const std::string corrected = CorrectedNote(transfers, table, arguments);
  return Aligned(rows) + '\n' + Note(arguments, request, transfers.front().samples) + corrected +
         (corrected.empty() ? "" : "\n");
}

std::string ToCsv(const std::vector<Transfer>& transfers, const SeriesTable& table) {
  std::string text = "from,to,given,nats,corrected,null_mean,p,q,histories_suffice\n";
  const auto optional = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  for (const Transfer& transfer : transfers) {
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{}\n", Quoted(NameList(transfer.columns.sources, table.names)),
        Quoted(NameList(transfer.columns.targets, table.names)),
        Quoted(NameList(transfer.columns.given, table.names)), transfer.nats,
        optional(transfer.corrected), optional(transfer.null_mean), optional(transfer.p),
        optional(transfer.q), transfer.histories_suffice ? "yes" : "no");
  }
  return text;
}

Json ToJson(const std::vector<Transfer>& transfers, const SeriesTable& table,
            const TeArguments& arguments, const TransferRequest& request) {
  const bool discrete = arguments.estimator == "discrete";
  Json document = {{"estimator", arguments.estimator}};
  if (discrete) {
    document["bins"] = arguments.bins;
    document["binning"] = "quantiles";
    document["bias_correction"] = "Miller-Madow";
  }
  if (arguments.estimator == "ksg") {
    document["neighbours"] = arguments.neighbours;
    document["theiler"] = arguments.theiler;
  }
  document["target_history"] = arguments.options.target_history;
  document["source_history"] = arguments.options.source_history;
  document["delay"] = arguments.options.delay;
  document["unit"] = "nats";
  if (arguments.options.surrogates > 0) document["surrogate"] = NameOf(request.surrogate);
  if (transfers.front().corrected) {
    document["corrected_note"] = CorrectedNote(transfers, table, arguments);
  }
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
                {"q", optional(transfer.q)},
                {"histories_suffice", transfer.histories_suffice}};
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
  ASSIGN_OR_RETURN(auto table, ReadSeries(arguments.file, arguments.read));
  // Gaps do not make trials of one recording.
  const std::size_t recorded_trials = table.trials.size();
  ASSIGN_OR_RETURN(const std::int64_t dropped,
                   ResolveMissing(table, arguments.missing, arguments.file));
  ASSIGN_OR_RETURN(const auto request, RequestOf(table, arguments, recorded_trials));
  const auto found = TransfersOf(table.Trials(), table.names, request);
  if (!found) return Fail(found.error().code, "{}: {}", arguments.file, found.error().message);
  const std::vector<Transfer>& transfers = *found;
  Json document =
      arguments.output.json ? ToJson(transfers, table, arguments, request) : Json::object();
  std::string text = ToText(transfers, table, arguments, request);
  AddReading(table, document, text);
  if (dropped > 0) {
    document["rows_dropped"] = dropped;
    text += fmt::format("{} rows with missing values dropped\n", dropped);
  }
  PrintResult(arguments.output, document, ToCsv(transfers, table), text);
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
  AddSeries(options, arguments->file, arguments->read, "columns to use");
  AddOption(options, "--trials", arguments->read.trials, "COLUMN",
            "column that identifies the trial; past and present never span trials");
  AddOption(options, "--estimator", arguments->estimator, "discrete|gauss|ksg",
            "counts of discretised values, Gaussian variables, or nearest neighbours")
      ->check(CLI::IsMember({"discrete", "gauss", "ksg"}))
      ->capture_default_str();
  AddMissing(options, arguments->missing);
  AddSets(options, *arguments);
  AddDefaulted(options, "--bins", arguments->bins, "quantile bins per column", "N")
      ->check(CLI::Range(2, 1 << 16));
  AddDefaulted(options, "--neighbours", arguments->neighbours, "nearest neighbours of ksg", "N")
      ->check(CLI::Range(1, kMaxCount));
  AddDefaulted(options, "--theiler", arguments->theiler,
               "Theiler window of ksg: rows at most this far apart in time are no neighbours",
               "ROWS")
      ->check(CLI::Range(0, kMaxCount));
  AddDefaulted(options, "-k,--target-history", arguments->options.target_history,
               "past values of the target", "N")
      ->check(CLI::Range(1, 62));
  AddDefaulted(options, "-l,--source-history", arguments->options.source_history,
               "past values of the source", "N")
      ->check(CLI::Range(1, 62));
  AddDefaulted(options, "-u,--delay", arguments->options.delay,
               "steps from the latest value of the source to the target's present", "N")
      ->check(CLI::Range(1, kMaxCount));
  AddDefaulted(
      options, "--surrogates", arguments->options.surrogates,
      "test significance against this many surrogates of the source: of other trials if there "
      "are five of one length, and else shifted circularly",
      "N")
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
