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

// Masks that are scored at once, and are still in the first cache when they are compared.
constexpr std::size_t kBlock = 1024;

// The lowest of many scores; of equal ones those of lower masks.
class LowestScores {
 public:
  explicit LowestScores(std::size_t count) : count_(count) {}

  void Add(std::uint64_t mask, double score) {
    if (found_.size() == count_) {
      if (score >= found_.front().first) return;
      std::ranges::pop_heap(found_);
      found_.pop_back();
    }
    found_.emplace_back(score, mask);
    std::ranges::push_heap(found_);
  }
  // Returns scores and masks, ascending.
  std::vector<std::pair<double, std::uint64_t>> Sorted() && {
    std::ranges::sort(found_);
    return std::move(found_);
  }

 private:
  std::size_t count_;
  std::vector<std::pair<double, std::uint64_t>> found_;  // a heap
};

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
  // If normalised, also determinants and the normalisers of half of the subsets.
  const Bytes halves = 2 * tables + (options.normalised ? 3 : 0);
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

void PartitionSearch::Score(Measure measure, std::size_t first, std::span<double> scores) const {
  const std::size_t full = tables_.both.size() - 1;
  const std::size_t end = first + scores.size();
  double* out = scores.data();
  const double* const both = tables_.both.data();
  const double* const past = tables_.past.data();
  const double* const present = tables_.present.data();
  switch (measure) {
    case Measure::kMultiInformation:
      for (std::size_t m = first; m < end; ++m) *out++ = both[m] * both[full - m];
      return;
    case Measure::kWholeMinusSum:
      for (std::size_t m = first; m < end; ++m) {
        *out++ = (both[m] / (past[m] * present[m])) *
                 (both[full - m] / (past[full - m] * present[full - m]));
      }
      return;
    case Measure::kPhiR:
      return ScoreWithoutRedundancy(first, scores);
    default:
      for (std::size_t m = first; m < end; ++m) {
        *out++ = (both[m] / past[m]) * (both[full - m] / past[full - m]);
      }
  }
}

void PartitionSearch::ScoreWithoutRedundancy(std::size_t first, std::span<double> scores) const {
  const auto& [past, present, both, across] = tables_;
  const std::size_t full = both.size() - 1;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::size_t mask = first + i;
    const std::size_t rest = full - mask;
    // exp of twice the information from each part to itself and to the other part.
    const double own = past[mask] * present[mask] / both[mask];
    const double own_of_rest = past[rest] * present[rest] / both[rest];
    const double forth = past[mask] * present[rest] / across[mask];
    const double back = past[rest] * present[mask] / across[rest];
    const double least = std::min(std::min(own, own_of_rest), std::min(forth, back));
    scores[i] = least / (own * own_of_rest);
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

Result<double> PartitionSearch::ConstantOf(Measure measure) const {
  const Measure ranked = IsSearched(measure) ? Measure::kStochasticInteraction : measure;
  ASSIGN_OR_RETURN(const auto first, MakeBipartition(1, model_.variables()));
  ASSIGN_OR_RETURN(const auto value, Evaluate(model_, first, ranked));
  double score = 0.0;
  Score(measure, 1, {&score, 1});
  return value - 0.5 * std::log(score);
}

Result<MinimumPartition> PartitionSearch::Exhaustive(Measure measure) {
  const int variables = model_.variables();
  std::vector<double> normalisers;
  double constant = 0.0;
  if (options_.normalised) {
    ASSIGN_OR_RETURN(normalisers, Normalisers());
    ASSIGN_OR_RETURN(constant, ConstantOf(measure));
  }
  const std::size_t count = tables_.both.size() / 2;
  LowestScores lowest(IsSearched(measure) ? kCandidates : 1);
  std::array<double, kBlock> scores = {};
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::span block(scores.data(), std::min(kBlock, count - first));
    Score(measure, first, block);
    for (std::size_t i = first == 0 ? 1 : 0; i < block.size(); ++i) {
      const double score = options_.normalised
                               ? (0.5 * std::log(block[i]) + constant) / normalisers[first + i]
                               : block[i];
      lowest.Add(first + i, score);
    }
  }
  const auto candidates = std::move(lowest).Sorted();
  std::optional<MinimumPartition> best;
  double least = HUGE_VAL;
  for (const auto& [score, mask] : candidates) {
    ASSIGN_OR_RETURN(auto partition, MakeBipartition(mask, variables));
    ASSIGN_OR_RETURN(const auto value, Evaluate(model_, partition, measure));
    double compared = value;
    if (options_.normalised && IsSearched(measure)) {
      ASSIGN_OR_RETURN(const auto interaction,
                       Evaluate(model_, partition, Measure::kStochasticInteraction));
      compared *= score / interaction;
    }
    if (compared < least || !best) {
      least = compared;
      best.emplace(std::move(partition), value);
    }
  }
  if (!best) return InvalidArgument("no bipartition has a finite value");
  const auto all = static_cast<std::int64_t>(count) - 1;
  best->examined = IsSearched(measure) ? static_cast<std::int64_t>(candidates.size()) : all;
  best->exact = best->examined == all && measure != Measure::kPhiG;
  return *std::move(best);
}

}  // namespace reveza::phi
