#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "phi/arithmetic/parallel_for.h"
#include "phi/cli/commands.h"
#include "phi/discrete/transfer_entropy.h"
#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

struct TeArguments {
  std::string file;
  std::vector<std::string> columns;
  int bins = 4;
  int threads = 1;
  bool json = false;
  TransferOptions options;
};

struct Pair {
  std::size_t from = 0;
  std::size_t to = 0;
  Result<TransferEntropy> found;
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

void PrintTable(const std::vector<Pair>& pairs, const SeriesTable& table,
                const TeArguments& arguments) {
  fmt::print("{:<18} {:<18} {:>10} {:>10} {:>10} {:>8}\n", "from", "to", "nats", "corrected",
             "null mean", "p");
  for (const Pair& pair : pairs) {
    const TransferEntropy& found = *pair.found;
    fmt::print("{:<18} {:<18} {:>10.6f} {:>10.6f} {:>10} {:>8}\n", table.names[pair.from],
               table.names[pair.to], found.plug_in, found.corrected,
               found.null_mean ? fmt::format("{:.6f}", *found.null_mean) : "-",
               found.p ? fmt::format("{:.3g}", *found.p) : "-");
  }
  fmt::print(
      "\ntransfer entropy with {} quantile bins, target history {}, source history {}, delay {}; "
      "corrected: Miller-Madow; {} samples\n",
      arguments.bins, arguments.options.target_history, arguments.options.source_history,
      arguments.options.delay, pairs.empty() ? 0 : pairs.front().found->samples);
}

void PrintJson(const std::vector<Pair>& pairs, const SeriesTable& table,
               const TeArguments& arguments) {
  nlohmann::json document = {{"bins", arguments.bins},
                             {"binning", "quantiles"},
                             {"target_history", arguments.options.target_history},
                             {"source_history", arguments.options.source_history},
                             {"delay", arguments.options.delay},
                             {"bias_correction", "Miller-Madow"},
                             {"unit", "nats"},
                             {"pairs", nlohmann::json::array()}};
  for (const Pair& pair : pairs) {
    const TransferEntropy& found = *pair.found;
    nlohmann::json row = {{"from", table.names[pair.from]}, {"to", table.names[pair.to]},
                          {"plug_in", found.plug_in},       {"corrected", found.corrected},
                          {"samples", found.samples},       {"states", found.states},
                          {"null_mean", nullptr},           {"p", nullptr}};
    if (found.null_mean) row["null_mean"] = *found.null_mean;
    if (found.p) row["p"] = *found.p;
    document["pairs"].push_back(std::move(row));
  }
  fmt::print("{}\n", document.dump(2));
}

Result<int> RunTe(const TeArguments& arguments) {
  ReadOptions read;
  read.columns = arguments.columns;
  ASSIGN_OR_RETURN(const auto table, ReadSeries(arguments.file, read));
  if (const std::string missing = table.FirstMissing(); !missing.empty()) {
    return InvalidArgument("{} {}; leave out or fill in such rows", arguments.file, missing);
  }
  if (table.trials.size() > 1) {
    return InvalidArgument(
        "{} has {} trials, and `phi te` takes a single trial; pass one trial per file, or use `phi "
        "measure --granger pair`, which supports trials",
        arguments.file, table.trials.size());
  }
  if (table.names.size() < 2) {
    return InvalidArgument("{} has one column; transfer entropy needs at least two",
                           arguments.file);
  }
  ASSIGN_OR_RETURN(const auto binned, Binned(table, arguments));
  std::vector<Pair> pairs;
  for (std::size_t from = 0; from < binned.size(); ++from) {
    for (std::size_t to = 0; to < binned.size(); ++to) {
      if (from != to) pairs.push_back({from, to, TransferEntropy()});
    }
  }
  ParallelFor(arguments.threads, pairs.size(), [&] {
    return [&](std::size_t i) {
      pairs[i].found =
          TransferEntropyOf(binned[pairs[i].from], binned[pairs[i].to], arguments.options);
    };
  });
  for (const Pair& pair : pairs) {
    if (!pair.found) return std::unexpected(pair.found.error());
  }
  if (arguments.json) {
    PrintJson(pairs, table, arguments);
  } else {
    PrintTable(pairs, table, arguments);
  }
  return kDone;
}

}  // namespace

Action AddTeCommand(CLI::App& options) {
  const auto arguments = std::make_shared<TeArguments>();
  constexpr int kMaxCount = 1'000'000;
  AddSeries(options, arguments->file, arguments->columns, "columns to use");
  AddDefaulted(options, "--bins", arguments->bins, "quantile bins per column", "N")
      ->check(CLI::Range(2, 1 << 16));
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
  options.add_flag("--json", arguments->json, "print JSON");
  options.footer("Example:\n  phi te spikes.csv --bins 2 --target-history 3 --surrogates 99");
  return [arguments] { return RunTe(*arguments); };
}

}  // namespace reveza::phi
