#include "te_command.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "exit_status.h"
#include "phi/discrete/parallel_for.h"
#include "phi/discrete/transfer_entropy.h"
#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

struct Typed {
  std::string file;
  std::vector<std::string> columns;
  int bins = 4;
  int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  bool json = false;
  TransferOptions options;
};

struct Pair {
  std::size_t from = 0;
  std::size_t to = 0;
  Result<TransferEntropy> found;
};

Result<std::vector<std::vector<int>>> Binned(const SeriesTable& table, int bins) {
  std::vector<std::vector<int>> binned;
  for (std::size_t column = 0; column < table.names.size(); ++column) {
    std::vector<double> values;
    for (std::size_t i = column; i < table.values.size(); i += table.names.size()) {
      values.push_back(table.values[i]);
    }
    auto symbols = QuantileBins(values, bins);
    if (!symbols) {
      return Fail(symbols.error().code,
                  fmt::format("{}: {}", table.names[column], symbols.error().message));
    }
    binned.push_back(std::move(*symbols));
  }
  return binned;
}

void PrintTable(const std::vector<Pair>& pairs, const SeriesTable& table, const Typed& typed) {
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
      "\ntransfer entropy of {} quantile bins, own past {}, other's {} from {} before; corrected: "
      "Miller-Madow; {} samples\n",
      typed.bins, typed.options.target_history, typed.options.source_history, typed.options.delay,
      pairs.empty() ? 0 : pairs.front().found->samples);
}

void PrintJson(const std::vector<Pair>& pairs, const SeriesTable& table, const Typed& typed) {
  nlohmann::json document = {{"bins", typed.bins},
                             {"binning", "quantiles"},
                             {"target_history", typed.options.target_history},
                             {"source_history", typed.options.source_history},
                             {"delay", typed.options.delay},
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

int RunTe(const Typed& typed) {
  ReadOptions read;
  read.columns = typed.columns;
  const auto table = ReadSeries(typed.file, read);
  if (!table) return Say(table.error());
  if (table->trials.size() > 1) {
    return Say(kUsage,
               fmt::format("{} has {} trials, and a past must not reach into another; give one as "
                           "a file, or take phi measure --granger pair, which knows trials",
                           typed.file, table->trials.size()));
  }
  if (table->names.size() < 2) {
    return Say(kUsage,
               fmt::format("{} has one column; transfer entropy is between two", typed.file));
  }
  const auto binned = Binned(*table, typed.bins);
  if (!binned) return Say(binned.error());
  std::vector<Pair> pairs;
  for (std::size_t from = 0; from < binned->size(); ++from) {
    for (std::size_t to = 0; to < binned->size(); ++to) {
      if (from != to) pairs.push_back({from, to, TransferEntropy()});
    }
  }
  ParallelFor(typed.threads, pairs.size(), [&] {
    return [&](std::size_t i) {
      pairs[i].found =
          TransferEntropyOf((*binned)[pairs[i].from], (*binned)[pairs[i].to], typed.options);
    };
  });
  for (const Pair& pair : pairs) {
    if (!pair.found) return Say(pair.found.error());
  }
  if (typed.json) {
    PrintJson(pairs, *table, typed);
  } else {
    PrintTable(pairs, *table, typed);
  }
  return kDone;
}

}  // namespace

std::function<int()> AddTeCommand(CLI::App& options) {
  const auto typed = std::make_shared<Typed>();
  constexpr int kMost = 1'000'000;
  options.add_option("FILE", typed->file, "a series: CSV, Parquet or NumPy, a row a step")
      ->required();
  options.add_option("--columns", typed->columns, "only these, by name or number, with commas")
      ->delimiter(',')
      ->type_name("NAMES");
  options
      .add_option("--bins", typed->bins, "quantiles that values are sorted into; 4 unless given")
      ->check(CLI::Range(2, 1 << 16))
      ->type_name("N");
  options
      .add_option("-k,--target-history", typed->options.target_history,
                  "own past values; 1 unless given")
      ->check(CLI::Range(1, 62))
      ->type_name("N");
  options
      .add_option("-l,--source-history", typed->options.source_history,
                  "the other's past values; 1 unless given")
      ->check(CLI::Range(1, 62))
      ->type_name("N");
  options.add_option("-u,--delay", typed->options.delay, "steps back to the first; 1 unless given")
      ->check(CLI::Range(1, kMost))
      ->type_name("N");
  options
      .add_option("--surrogates", typed->options.surrogates,
                  "test against so many, the source moved in a circle; 0 unless given")
      ->check(CLI::Range(0, kMost))
      ->type_name("N");
  options.add_option("--seed", typed->options.seed, "of surrogates; 1 unless given")
      ->type_name("N");
  options.add_option("--threads", typed->threads, "which change no number")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  options.add_flag("--json", typed->json, "as JSON");
  return [typed] { return RunTe(*typed); };
}

}  // namespace reveza::phi
