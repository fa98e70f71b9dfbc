#include "phi/measures/minimum_partition.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "phi/measures/partition_scores.h"

namespace reveza::phi {
namespace {

// The lowest of many scores; of equal ones those of lower masks.
class LowestScores {
 public:
  explicit LowestScores(std::size_t count) : count_(count) {}

  // Adds the scores of consecutive masks; mask 0 is no bipartition.
  void Add(std::uint64_t first, std::span<const double> scores) {
    if (found_.size() == count_ && !HasLower(scores, found_.front().first)) return;
    for (std::size_t i = first == 0 ? 1 : 0; i < scores.size(); ++i) Add(first + i, scores[i]);
  }
  // Returns scores and masks, ascending.
  std::vector<std::pair<double, std::uint64_t>> Sorted() && {
    std::ranges::sort(found_);
    return std::move(found_);
  }

 private:
  // Without branches, because nearly no block of a long search has a lower score.
  static bool HasLower(std::span<const double> scores, double than) {
    bool lower = false;
    for (const double score : scores) lower |= score < than;
    return lower;
  }

  void Add(std::uint64_t mask, double score) {
    if (found_.size() == count_) {
      if (score >= found_.front().first) return;
      std::ranges::pop_heap(found_);
      found_.pop_back();
    }
    found_.emplace_back(score, mask);
    std::ranges::push_heap(found_);
  }

  std::size_t count_;
  std::vector<std::pair<double, std::uint64_t>> found_;  // a heap
};

// Whether each value needs an optimisation, so that those with the lowest si are evaluated.
bool IsSearched(Measure measure) {
  return measure == Measure::kPhiG || measure == Measure::kPhiStar;
}

// Returns the measure less half the logarithm of its score, by the score of subset 1.
Result<double> ConstantOf(const GaussianModel& model, Measure measure, double score) {
  ASSIGN_OR_RETURN(const auto first, MakeBipartition(1, model.variables()));
  ASSIGN_OR_RETURN(const auto value, Evaluate(model, first, measure));
  return value - 0.5 * std::log(score);
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

Result<MinimumPartition> PartitionSearch::Minimum(Measure measure) const {
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
  if (model_.LogDeterminant(model_.Both(model_.AllVariables())) < kMinLogDeterminant) {
    return InvalidArgument(
        "the determinant of the joint correlation matrix is below 1e-260, too small for the "
        "exhaustive search; use --mip queyranne or a lower --order");
  }
  return Exhaustive(measure);
}

Result<std::vector<std::pair<double, std::uint64_t>>> PartitionSearch::Lowest(
    Measure measure) const {
  const Measure ranked = IsSearched(measure) ? Measure::kStochasticInteraction : measure;
  PartitionScores scores(model_, ranked, options_.instructions);
  std::optional<PartitionNormalisers> normalisers;
  if (options_.normalised) normalisers.emplace(model_, options_.instructions);
  double constant = 0.0;
  LowestScores lowest(IsSearched(measure) ? kCandidates : 1);
  for (std::size_t block = 0; block < scores.blocks(); ++block) {
    const std::span<double> some = scores.Of(block);
    if (normalisers) {
      if (block == 0) {
        ASSIGN_OR_RETURN(constant, ConstantOf(model_, ranked, some[1]));
      }
      RETURN_IF_ERROR(normalisers->Apply(block, constant, some));
    }
    lowest.Add(block * some.size(), some);
  }
  return std::move(lowest).Sorted();
}

Result<MinimumPartition> PartitionSearch::Exhaustive(Measure measure) const {
  const int variables = model_.variables();
  ASSIGN_OR_RETURN(const auto candidates, Lowest(measure));
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
  const std::int64_t all = (std::int64_t{1} << (variables - 1)) - 1;
  best->examined = IsSearched(measure) ? static_cast<std::int64_t>(candidates.size()) : all;
  best->exact = best->examined == all && measure != Measure::kPhiG;
  return *std::move(best);
}

}  // namespace reveza::phi
