#include "phi/measures/minimum_partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "phi/measures/queyranne.h"
#include "phi/measures/subset_determinants.h"

namespace reveza::phi {
namespace {

// exp of the logarithm of a determinant below this leaves the range of doubles on the way.
constexpr double kLeastLogDeterminant = -600.0;

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

Matrix RowsOf(const GaussianModel& model, const std::vector<int>& rows) {
  return Submatrix(model.joint(), rows, rows);
}

// The masks of the `count` lowest scores, lowest first; of equals the lower mask.
std::vector<std::uint64_t> Lowest(const std::vector<double>& scores, std::size_t count) {
  std::vector<std::pair<double, std::uint64_t>> found;
  for (std::uint64_t mask = 1; mask < scores.size(); ++mask) {
    const double score = scores[mask];
    if (found.size() == count && score >= found.front().first) continue;
    if (found.size() == count) {
      std::ranges::pop_heap(found);
      found.pop_back();
    }
    found.emplace_back(score, mask);
    std::ranges::push_heap(found);
  }
  std::ranges::sort(found);
  std::vector<std::uint64_t> masks;
  masks.reserve(found.size());
  for (const auto& [score, mask] : found) masks.push_back(mask);
  return masks;
}

bool IsSearched(Measure measure) {
  return measure == Measure::kPhiG || measure == Measure::kPhiStar;
}

}  // namespace

std::string_view NameOf(SearchMethod method) {
  return method == SearchMethod::kExhaustive ? "exhaustive" : "queyranne";
}

Result<SearchMethod> SearchMethodOf(std::string_view name) {
  for (const SearchMethod method : {SearchMethod::kExhaustive, SearchMethod::kQueyranne}) {
    if (NameOf(method) == name) return method;
  }
  return Wrong(fmt::format(
      "there is no search '{}' of minimum partitions; there are exhaustive and queyranne", name));
}

Bytes TableBytes(int variables, std::span<const Measure> measures, const SearchOptions& options) {
  if (options.method == SearchMethod::kQueyranne || variables < 1 ||
      variables > PartitionSearch::kMostExhaustive) {
    return 0;
  }
  Bytes tables = 0;
  for (const Measure measure : measures) {
    switch (measure) {
      case Measure::kInformation:
        break;
      case Measure::kMultiInformation:
        tables = std::max<Bytes>(tables, 1);
        break;
      case Measure::kWholeMinusSum:
        tables = std::max<Bytes>(tables, 3);
        break;
      case Measure::kPhiR:
        tables = std::max<Bytes>(tables, 4);
        break;
      default:
        tables = std::max<Bytes>(tables, 2);
    }
  }
  if (tables == 0) return 0;
  // Scores of half of the subsets, and where they are normalised, determinants and normalisers.
  const Bytes halves = 2 * tables + (options.normalised ? 4 : 1);
  return halves * (sizeof(double) << (variables - 1));
}

PartitionSearch::PartitionSearch(const GaussianModel& model, const SearchOptions& options,
                                 SearchTables* tables)
    : model_(model), options_(options), tables_(tables != nullptr ? *tables : own_tables_) {}

Result<MinimumPartition> PartitionSearch::Minimum(Measure measure) {
  const int variables = model_.variables();
  if (variables < 2) return Wrong("a minimum partition takes two variables at least");
  if (measure == Measure::kInformation) {
    return Wrong("the measure i has no partition, so no minimum one; take si, mi, wms, phi_r, ...");
  }
  if (options_.method == SearchMethod::kQueyranne) {
    if (variables > kMostQueyranne) {
      return Wrong(
          fmt::format("{} variables: Queyranne's algorithm takes {} at most; choose fewer "
                      "with --columns",
                      variables, kMostQueyranne));
    }
    if (options_.normalised) return Wrong("a normalised minimum is searched for exhaustively only");
    return Queyranne(measure);
  }
  if (variables > kMostExhaustive) {
    return Wrong(
        fmt::format("{} variables have 2^{} bipartitions: the exhaustive search takes {} variables "
                    "at most; use "
                    "--mip queyranne, or choose fewer with --columns",
                    variables, variables - 1, kMostExhaustive));
  }
  if (auto made = MakeTables(measure); !made) return std::unexpected(made.error());
  return Exhaustive(measure);
}

Status PartitionSearch::MakeTables(Measure measure) {
  const auto all = model_.AllVariables();
  if (!has_both_ && model_.LogDeterminant(model_.Both(all)) < kLeastLogDeterminant) {
    return Wrong(
        "the determinant of the joint correlation matrix is below 1e-260: too little for the "
        "exhaustive search; use --mip queyranne or a lower --order");
  }
  const int group = model_.lags() + 1;
  const auto fill = [&](std::vector<double>& table, bool& is_there, const std::vector<int>& rows,
                        const SubsetRows& taken) {
    if (is_there) return;
    SubsetDeterminants(RowsOf(model_, rows), model_.variables(), taken, options_.instructions,
                       table);
    is_there = true;
  };
  const std::vector<int> joint = model_.Both(all);
  fill(tables_.both, has_both_, joint, {.group = group, .in_begin = 0, .in_end = group});
  if (measure == Measure::kMultiInformation) return {};
  fill(tables_.past, has_past_, model_.Past(all),
       {.group = model_.lags(), .in_begin = 0, .in_end = model_.lags()});
  if (measure != Measure::kWholeMinusSum && measure != Measure::kPhiR) return {};
  fill(tables_.present, has_present_, model_.Present(all), {});
  if (measure != Measure::kPhiR) return {};
  fill(tables_.across, has_across_, joint,
       {.group = group,
        .in_begin = 0,
        .in_end = group - 1,
        .out_begin = group - 1,
        .out_end = group});
  return {};
}

void PartitionSearch::Score(Measure measure) {
  const std::size_t full = tables_.both.size() - 1;
  tables_.scores.resize(tables_.both.size() / 2);
  const std::size_t count = tables_.scores.size();
  double* const scores = tables_.scores.data();
  const double* const both = tables_.both.data();
  const double* const past = tables_.past.data();
  const double* const present = tables_.present.data();
  switch (measure) {
    case Measure::kMultiInformation:
      for (std::size_t m = 0; m < count; ++m) scores[m] = both[m] * both[full - m];
      return;
    case Measure::kWholeMinusSum:
      for (std::size_t m = 0; m < count; ++m) {
        scores[m] = (both[m] / (past[m] * present[m])) *
                    (both[full - m] / (past[full - m] * present[full - m]));
      }
      return;
    case Measure::kPhiR:
      return ScoreWithoutRedundancy();
    default:
      for (std::size_t m = 0; m < count; ++m) {
        scores[m] = (both[m] / past[m]) * (both[full - m] / past[full - m]);
      }
  }
}

void PartitionSearch::ScoreWithoutRedundancy() {
  const auto& [past, present, both, across, unused] = tables_;
  const std::size_t full = both.size() - 1;
  for (std::size_t mask = 0; mask < tables_.scores.size(); ++mask) {
    const std::size_t rest = full - mask;
    // exp of twice the information from each part to itself and to the other.
    const double own = past[mask] * present[mask] / both[mask];
    const double own_of_rest = past[rest] * present[rest] / both[rest];
    const double forth = past[mask] * present[rest] / across[mask];
    const double back = past[rest] * present[mask] / across[rest];
    const double least = std::min(std::min(own, own_of_rest), std::min(forth, back));
    tables_.scores[mask] = least / (own * own_of_rest);
  }
}

Result<std::vector<double>> PartitionSearch::Normalisers() const {
  const int variables = model_.variables();
  std::vector<double> determinants;
  SubsetDeterminants(RowsOf(model_, model_.Present(model_.AllVariables())), variables, {},
                     options_.instructions, determinants);
  const std::size_t full = determinants.size() - 1;
  const auto entropy = [&](std::size_t mask) {
    double twice = std::log(determinants[mask]);
    for (int i = 0; i < variables; ++i) {
      if (((mask >> i) & 1U) == 0) continue;
      const int row = i * (model_.lags() + 1) + model_.lags();
      twice += model_.log_variances()[static_cast<std::size_t>(row)] +
               std::log(2.0 * std::numbers::pi * std::numbers::e);
    }
    return 0.5 * twice;
  };
  std::vector<double> normalisers(determinants.size() / 2);
  for (std::size_t mask = 1; mask < normalisers.size(); ++mask) {
    normalisers[mask] = std::min(entropy(mask), entropy(full - mask));
    if (normalisers[mask] > 0.0) continue;
    const auto partition = Bipartition(mask, variables);
    return Wrong(fmt::format(
        "the normaliser of {} is {:.4g}, not positive: differential entropy depends on the units "
        "of the data; search without --normalised, or scale the variables",
        partition ? partition->Text() : "a partition", normalisers[mask]));
  }
  return normalisers;
}

Status PartitionSearch::Normalise(Measure measure) {
  const auto normalisers = Normalisers();
  if (!normalisers) return std::unexpected(normalisers.error());
  // The constant that the scores leave out.
  const Measure ranked = IsSearched(measure) ? Measure::kStochasticInteraction : measure;
  const auto first = Bipartition(1, model_.variables());
  if (!first) return std::unexpected(first.error());
  const auto value = Evaluate(model_, *first, ranked);
  if (!value) return std::unexpected(value.error());
  std::vector<double>& scores = tables_.scores;
  const double constant = *value - 0.5 * std::log(scores[1]);
  for (std::size_t mask = 1; mask < scores.size(); ++mask) {
    scores[mask] = (0.5 * std::log(scores[mask]) + constant) / (*normalisers)[mask];
  }
  return {};
}

Result<MinimumPartition> PartitionSearch::Exhaustive(Measure measure) {
  const int variables = model_.variables();
  Score(measure);
  if (options_.normalised) {
    if (auto made = Normalise(measure); !made) return std::unexpected(made.error());
  }
  const std::vector<double>& scores = tables_.scores;
  const std::vector<std::uint64_t> masks = Lowest(scores, IsSearched(measure) ? kCandidates : 1);
  std::optional<MinimumPartition> best;
  double least = HUGE_VAL;
  for (const std::uint64_t mask : masks) {
    auto partition = Bipartition(mask, variables);
    if (!partition) return std::unexpected(partition.error());
    const auto value = Evaluate(model_, *partition, measure);
    if (!value) return std::unexpected(value.error());
    double compared = *value;
    if (options_.normalised && IsSearched(measure)) {
      const auto interaction = Evaluate(model_, *partition, Measure::kStochasticInteraction);
      if (!interaction) return std::unexpected(interaction.error());
      compared *= scores[mask] / *interaction;
    }
    if (compared < least || !best) {
      least = compared;
      best.emplace(*std::move(partition), *value);
    }
  }
  if (!best) return Wrong("there is no bipartition whose value is a number");
  const auto all = static_cast<std::int64_t>(scores.size()) - 1;
  best->examined = IsSearched(measure) ? static_cast<std::int64_t>(masks.size()) : all;
  best->exact = best->examined == all;
  return *std::move(best);
}

Result<MinimumPartition> PartitionSearch::Queyranne(Measure measure) {
  std::int64_t examined = 0;
  const auto value_of = [&](const std::vector<int>& part) -> Result<double> {
    std::vector<int> others;
    for (const int variable : model_.AllVariables()) {
      if (!std::ranges::binary_search(part, variable)) others.push_back(variable);
    }
    auto partition = PartitionOf({part, std::move(others)}, model_.variables());
    if (!partition) return std::unexpected(partition.error());
    ++examined;
    return Evaluate(model_, *partition, measure);
  };
  auto found = MinimumByPendentPairs(model_.variables(), value_of);
  if (!found) return std::unexpected(found.error());
  std::vector<int> others;
  for (const int variable : model_.AllVariables()) {
    if (!std::ranges::binary_search(found->part, variable)) others.push_back(variable);
  }
  auto partition = PartitionOf({found->part, std::move(others)}, model_.variables());
  if (!partition) return std::unexpected(partition.error());
  return MinimumPartition{.partition = *std::move(partition),
                          .value = found->value,
                          .examined = examined,
                          .exact = measure == Measure::kMultiInformation || model_.variables() <= 2,
                          .method = SearchMethod::kQueyranne};
}

}  // namespace reveza::phi
