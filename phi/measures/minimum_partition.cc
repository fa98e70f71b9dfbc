#include "phi/measures/minimum_partition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "phi/measures/subset_determinants.h"

namespace reveza::phi {
namespace {

Matrix RowsOf(const GaussianModel& model, const std::vector<int>& rows) {
  return Submatrix(model.joint(), rows, rows);
}

// Returns the masks of the `count` lowest scores, ascending; ties go to the lower mask.
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

Result<SearchMethod> ParseSearchMethod(std::string_view name) {
  for (const SearchMethod method : {SearchMethod::kExhaustive, SearchMethod::kQueyranne}) {
    if (NameOf(method) == name) return method;
  }
  return InvalidArgument("--mip: unknown search method '{}'; use exhaustive or queyranne", name);
}

Bytes TableBytes(int variables, std::span<const Measure> measures, const SearchOptions& options) {
  if (options.method == SearchMethod::kQueyranne || variables < 1 ||
      variables > PartitionSearch::kMaxExhaustive) {
    return 0;
  }
  constexpr std::array<Bytes, kAllMeasures.size()> kTables = {0, 1, 2, 3, 4, 2, 2};  // by measure
  Bytes tables = 0;
  for (const Measure measure : measures) {
    tables = std::max(tables, kTables[static_cast<std::size_t>(measure)]);
  }
  if (tables == 0) return 0;
  // Scores of half of the subsets and, if normalised, determinants and normalisers.
  const Bytes halves = 2 * tables + (options.normalised ? 4 : 1);
  return halves * (sizeof(double) << (variables - 1));
}

PartitionSearch::PartitionSearch(const GaussianModel& model, const SearchOptions& options,
                                 SearchTables* tables)
    : model_(model), options_(options), tables_(tables != nullptr ? *tables : own_tables_) {}

Result<MinimumPartition> PartitionSearch::Minimum(Measure measure) {
  const int variables = model_.variables();
  if (variables < 2) return InvalidArgument("a minimum partition needs at least two variables");
  if (measure == Measure::kInformation) {
    return InvalidArgument("the measure i has no partition; use si, mi, wms, phi_r, ...");
  }
  if (options_.method == SearchMethod::kQueyranne) {
    if (variables > kMaxQueyranne) {
      return InvalidArgument(
          "{} variables: Queyranne's algorithm supports at most {}; select fewer with --columns",
          variables, kMaxQueyranne);
    }
    if (options_.normalised) return InvalidArgument("--normalised requires --mip exhaustive");
    return Queyranne(measure);
  }
  if (variables > kMaxExhaustive) {
    return InvalidArgument(
        "{} variables have 2^{} bipartitions; the exhaustive search supports at most {} variables; "
        "use --mip queyranne, or select fewer with --columns",
        variables, variables - 1, kMaxExhaustive);
  }
  RETURN_IF_ERROR(MakeTables(measure));
  return Exhaustive(measure);
}

Status PartitionSearch::MakeTables(Measure measure) {
  const auto all = model_.AllVariables();
  if (!has_both_ && model_.LogDeterminant(model_.Both(all)) < kMinLogDeterminant) {
    return InvalidArgument(
        "the determinant of the joint correlation matrix is below 1e-260, too small for the "
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
    // exp of twice the information from each part to itself and to the other part.
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
      twice += model_.log_variances()[row] + std::log(2.0 * std::numbers::pi * std::numbers::e);
    }
    return 0.5 * twice;
  };
  std::vector<double> normalisers(determinants.size() / 2);
  for (std::size_t mask = 1; mask < normalisers.size(); ++mask) {
    normalisers[mask] = std::min(entropy(mask), entropy(full - mask));
    if (normalisers[mask] > 0.0) continue;
    const auto partition = MakeBipartition(mask, variables);
    return InvalidArgument(
        "the normaliser of {} is {:.4g}, not positive: differential entropy depends on the units "
        "of the data; search without --normalised, or scale the variables",
        partition ? partition->Text() : "a partition", normalisers[mask]);
  }
  return normalisers;
}

Status PartitionSearch::Normalise(Measure measure) {
  ASSIGN_OR_RETURN(const auto normalisers, Normalisers());
  // The constant factor that the scores omit.
  const Measure ranked = IsSearched(measure) ? Measure::kStochasticInteraction : measure;
  ASSIGN_OR_RETURN(const auto first, MakeBipartition(1, model_.variables()));
  ASSIGN_OR_RETURN(const auto value, Evaluate(model_, first, ranked));
  std::vector<double>& scores = tables_.scores;
  const double constant = value - 0.5 * std::log(scores[1]);
  for (std::size_t mask = 1; mask < scores.size(); ++mask) {
    scores[mask] = (0.5 * std::log(scores[mask]) + constant) / normalisers[mask];
  }
  return {};
}

Result<MinimumPartition> PartitionSearch::Exhaustive(Measure measure) {
  const int variables = model_.variables();
  Score(measure);
  if (options_.normalised) {
    RETURN_IF_ERROR(Normalise(measure));
  }
  const std::vector<double>& scores = tables_.scores;
  const std::vector<std::uint64_t> masks = Lowest(scores, IsSearched(measure) ? kCandidates : 1);
  std::optional<MinimumPartition> best;
  double least = HUGE_VAL;
  for (const std::uint64_t mask : masks) {
    ASSIGN_OR_RETURN(auto partition, MakeBipartition(mask, variables));
    ASSIGN_OR_RETURN(const auto value, Evaluate(model_, partition, measure));
    double compared = value;
    if (options_.normalised && IsSearched(measure)) {
      ASSIGN_OR_RETURN(const auto interaction,
                       Evaluate(model_, partition, Measure::kStochasticInteraction));
      compared *= scores[mask] / interaction;
    }
    if (compared < least || !best) {
      least = compared;
      best.emplace(std::move(partition), value);
    }
  }
  if (!best) return InvalidArgument("no bipartition has a finite value");
  const auto all = static_cast<std::int64_t>(scores.size()) - 1;
  best->examined = IsSearched(measure) ? static_cast<std::int64_t>(masks.size()) : all;
  best->exact = best->examined == all && measure != Measure::kPhiG;
  return *std::move(best);
}

}  // namespace reveza::phi
