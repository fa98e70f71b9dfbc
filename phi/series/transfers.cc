#include "phi/series/transfers.h"

#include <algorithm>
#include <utility>

#include "phi/arithmetic/parallel_for.h"
#include "phi/measures/estimate.h"
#include "phi/measures/significance.h"

namespace reveza::phi {
namespace {

using Names = std::vector<std::string>;

// Returns the rows of all trials, which are copied.
SeriesView Joined(std::span<const SeriesView> trials, std::vector<double>& copied) {
  const int variables = trials.front().variables;
  for (const SeriesView& trial : trials) {
    for (std::int64_t t = 0; t < trial.length; ++t) {
      copied.insert(copied.end(), trial.Row(t), trial.Row(t) + variables);
    }
  }
  return {copied.data(), static_cast<std::int64_t>(copied.size()) / variables, variables,
          variables};
}

Result<std::vector<SymbolSeries>> Binned(const SeriesView& series, const Names& names,
                                         const TransferRequest& request) {
  std::vector<Result<SymbolSeries>> found(names.size());
  const auto threads = static_cast<std::size_t>(std::max(request.threads, 1));
  const std::size_t together = std::min(ValueColumns::kMax, (found.size() + threads - 1) / threads);
  ParallelFor(request.threads, (found.size() + together - 1) / together, [&] {
    return [&](std::size_t group) {
      const std::size_t first = group * together;
      const ValueColumns columns = {.first = series.values + first,
                                    .rows = static_cast<std::size_t>(series.length),
                                    .count = std::min(together, found.size() - first),
                                    .stride = static_cast<std::size_t>(series.stride)};
      auto symbols = QuantileBins(columns, request.bins);
      for (std::size_t i = 0; i < symbols.size(); ++i) found[first + i] = std::move(symbols[i]);
    };
  });
  std::vector<SymbolSeries> binned;
  for (std::size_t column = 0; column < found.size(); ++column) {
    if (!found[column]) {
      return Fail(found[column].error().code, "'{}': {}; choose other columns with --columns",
                  names[column], found[column].error().message);
    }
    binned.push_back(*std::move(found[column]));
  }
  return binned;
}

bool Holds(const std::vector<int>& columns, int column) {
  return std::ranges::find(columns, column) != columns.end();
}

Status CheckRoles(const TransferColumns& sets, const Names& names) {
  std::vector<int> all = sets.sources;
  all.insert(all.end(), sets.targets.begin(), sets.targets.end());
  all.insert(all.end(), sets.given.begin(), sets.given.end());
  std::ranges::sort(all);
  if (const auto twice = std::ranges::adjacent_find(all); twice != all.end()) {
    return InvalidArgument("'{}' is used twice, as source, target or given",
                           names[static_cast<std::size_t>(*twice)]);
  }
  return {};
}

// Returns the transfers to compute: between the sets that are named, or all ordered pairs.
Result<std::vector<Transfer>> Planned(const TransferRequest& request, const Names& names) {
  const TransferColumns& sets = request.columns;
  RETURN_IF_ERROR(CheckRoles(sets, names));
  const auto variables = static_cast<int>(names.size());
  std::vector<Transfer> transfers;
  if (!sets.sources.empty()) transfers.push_back({.columns = sets});
  for (int from = 0; sets.sources.empty() && from < variables; ++from) {
    for (int to = 0; to < variables; ++to) {
      if (from == to || Holds(sets.given, from) || Holds(sets.given, to)) continue;
      transfers.push_back({.columns = {.sources = {from}, .targets = {to}, .given = sets.given}});
    }
  }
  if (transfers.empty()) {
    return InvalidArgument("--given leaves fewer than two columns for sources and targets");
  }
  for (Transfer& transfer : transfers) {
    for (int column = 0; request.given_all_others && column < variables; ++column) {
      if (Holds(transfer.columns.sources, column)) continue;
      if (!Holds(transfer.columns.targets, column)) transfer.columns.given.push_back(column);
    }
  }
  return transfers;
}

Status FindContinuous(std::span<const SeriesView> trials, const Names& names,
                      const TransferRequest& request, Transfer& transfer) {
  const ContinuousTransferOptions options = {
      .estimator = request.estimator == TransferEstimator::kGauss
                       ? ContinuousTransferOptions::Estimator::kGauss
                       : ContinuousTransferOptions::Estimator::kKsg,
      .target_history = request.options.target_history,
      .source_history = request.options.source_history,
      .delay = request.options.delay,
      .neighbours = request.neighbours,
      .window = request.window,
      .surrogates = request.options.surrogates,
      .surrogate = request.surrogate,
      .seed = request.options.seed,
      .names = names};
  ASSIGN_OR_RETURN(const auto found, ContinuousTransferOf(trials, transfer.columns, options));
  transfer.nats = found.nats;
  transfer.corrected = found.corrected;
  transfer.samples = found.samples;
  transfer.null_mean = found.null_mean;
  transfer.p = found.p;
  return {};
}

// Returns the symbols of one column, or of several together, which are made in `joint`.
Result<const SymbolSeries*> SymbolsOf(const std::vector<SymbolSeries>& binned,
                                      const std::vector<int>& of, SymbolSeries& joint) {
  if (of.size() == 1) return &binned[static_cast<std::size_t>(of.front())];
  std::vector<std::span<const Symbol>> series;
  for (const int column : of) series.push_back(binned[static_cast<std::size_t>(column)].symbols());
  if (!series.empty()) {
    ASSIGN_OR_RETURN(joint, JointSymbols(series));
  }
  return &joint;
}

Status FindDiscrete(const std::vector<SymbolSeries>& binned, const TransferTrials& trials,
                    const TransferOptions& options, Transfer& transfer) {
  const TransferColumns& columns = transfer.columns;
  SymbolSeries of_sources, of_targets, of_given;
  ASSIGN_OR_RETURN(const auto sources, SymbolsOf(binned, columns.sources, of_sources));
  ASSIGN_OR_RETURN(const auto targets, SymbolsOf(binned, columns.targets, of_targets));
  ASSIGN_OR_RETURN(const auto given, SymbolsOf(binned, columns.given, of_given));
  ASSIGN_OR_RETURN(const auto found,
                   TransferEntropyOf(*sources, *targets, *given, trials, options));
  transfer.nats = found.plug_in;
  transfer.corrected = found.corrected;
  transfer.samples = found.samples;
  transfer.states = found.states;
  transfer.null_mean = found.null_mean;
  transfer.p = found.p;
  return {};
}

// Finds the targets whose past beyond the history matters.
void CheckHistories(std::span<const SeriesView> trials, int history,
                    std::vector<Transfer>& transfers) {
  const std::vector<double> memories = LongMemories(trials, history);
  for (Transfer& transfer : transfers) {
    transfer.histories_suffice = std::ranges::all_of(transfer.columns.targets, [&](int target) {
      return memories[static_cast<std::size_t>(target)] == 0.0;
    });
  }
}

void AdjustForDiscoveries(std::vector<Transfer>& transfers) {
  if (!transfers.front().p) return;
  std::vector<double> p;
  for (const Transfer& transfer : transfers) p.push_back(*transfer.p);
  const std::vector<double> adjusted = AdjustedP(p);
  for (std::size_t i = 0; i < adjusted.size(); ++i) transfers[i].q = adjusted[i];
}

}  // namespace

Result<TransferEstimator> ParseTransferEstimator(std::string_view name) {
  if (name == "discrete") return TransferEstimator::kDiscrete;
  if (name == "gauss") return TransferEstimator::kGauss;
  if (name == "ksg") return TransferEstimator::kKsg;
  return InvalidArgument("unknown estimator '{}'; use discrete, gauss or ksg", name);
}

Result<std::vector<Transfer>> TransfersOf(std::span<const SeriesView> trials, const Names& names,
                                          const TransferRequest& request) {
  const bool discrete = request.estimator == TransferEstimator::kDiscrete;
  if (names.size() < 2) {
    return InvalidArgument("there is one column; transfer entropy needs at least two");
  }
  ASSIGN_OR_RETURN(auto transfers, Planned(request, names));
  std::vector<SymbolSeries> binned;
  TransferTrials rows = {.lengths = {}, .permuted = request.surrogate == SurrogateKind::kTrials};
  for (const SeriesView& trial : trials) rows.lengths.push_back(trial.length);
  if (discrete) {
    std::vector<double> copied;
    const SeriesView joined = trials.size() == 1 ? trials.front() : Joined(trials, copied);
    ASSIGN_OR_RETURN(binned, Binned(joined, names, request));
  } else {
    RETURN_IF_ERROR(CheckNumbers(trials, names));
  }
  std::vector<Status> done(transfers.size());
  ParallelFor(request.threads, transfers.size(), [&] {
    return [&](std::size_t i) {
      done[i] = discrete ? FindDiscrete(binned, rows, request.options, transfers[i])
                         : FindContinuous(trials, names, request, transfers[i]);
    };
  });
  for (const Status& status : done) RETURN_IF_ERROR(status);
  CheckHistories(trials, request.options.target_history, transfers);
  AdjustForDiscoveries(transfers);
  return transfers;
}

}  // namespace reveza::phi
