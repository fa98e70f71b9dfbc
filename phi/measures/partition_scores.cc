#include "phi/measures/partition_scores.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "phi/measures/partition.h"

namespace reveza::phi {
namespace {

Matrix RowsOf(const GaussianModel& model, const std::vector<int>& rows) {
  return Submatrix(model.joint(), rows, rows);
}

// The determinants of the pasts, presents and both of a block's subsets, and of their pasts with
// the presents of the complements; of complements, those of the block's first subset.
struct Determinants {
  struct Pair {
    const double* subsets = nullptr;
    const double* complements = nullptr;
  };
  Pair both, past, present, across;
};

// The products of determinants cannot underflow: those of parts exceed that of the whole, which is
// at least exp(kMinLogDeterminant).
[[gnu::always_inline]] inline void ScoreBlock(Measure measure, const Determinants& of,
                                              std::span<double> scores) {
  double* const out = scores.data();
  const auto count = static_cast<std::ptrdiff_t>(scores.size());
  const auto [both, past, present, across] = of;
  switch (measure) {
    case Measure::kMultiInformation:
      for (std::ptrdiff_t i = 0; i < count; ++i) out[i] = both.subsets[i] * both.complements[-i];
      return;
    case Measure::kWholeMinusSum:
      for (std::ptrdiff_t i = 0; i < count; ++i) {
        out[i] = (both.subsets[i] * both.complements[-i]) /
                 ((past.subsets[i] * present.subsets[i]) *
                  (past.complements[-i] * present.complements[-i]));
      }
      return;
    case Measure::kPhiR:
      for (std::ptrdiff_t i = 0; i < count; ++i) {
        // exp of twice the information from each part to itself and to the other part.
        const double own = past.subsets[i] * present.subsets[i] / both.subsets[i];
        const double own_of_rest =
            past.complements[-i] * present.complements[-i] / both.complements[-i];
        const double forth = past.subsets[i] * present.complements[-i] / across.subsets[i];
        const double back = past.complements[-i] * present.subsets[i] / across.complements[-i];
        const double least = std::min(std::min(own, own_of_rest), std::min(forth, back));
        out[i] = least / (own * own_of_rest);
      }
      return;
    default:
      for (std::ptrdiff_t i = 0; i < count; ++i) {
        out[i] =
            (both.subsets[i] * both.complements[-i]) / (past.subsets[i] * past.complements[-i]);
      }
  }
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void ScoreByFour(Measure measure, const Determinants& of,
                                         std::span<double> scores) {
  ScoreBlock(measure, of, scores);
}
#endif

void Score(Measure measure, Instructions instructions, const Determinants& of,
           std::span<double> scores) {
#ifdef __x86_64__
  if (instructions != Instructions::kPlain) return ScoreByFour(measure, of, scores);
#endif
  static_cast<void>(instructions);
  ScoreBlock(measure, of, scores);
}

}  // namespace

ComplementaryBlocks::ComplementaryBlocks(const Matrix& matrix, int variables,
                                         const SubsetRows& rows, Instructions instructions)
    : ascending_(matrix, variables, rows, instructions),
      descending_(matrix, variables, rows, instructions),
      subsets_(ascending_.size()),
      others_(ascending_.size()) {}

std::size_t ComplementaryBlocks::count() const {
  return std::max<std::size_t>(1, ascending_.count() / 2);
}

std::size_t ComplementaryBlocks::size() const {
  // A single block holds the complements too.
  return ascending_.count() == 1 ? ascending_.size() / 2 : ascending_.size();
}

void ComplementaryBlocks::Write(std::size_t block) {
  ascending_.Write(block, subsets_.data());
  const bool single = ascending_.count() == 1;
  if (!single) descending_.Write(descending_.count() - 1 - block, others_.data());
  complements_ = (single ? subsets_ : others_).data() + ascending_.size() - 1;
}

PartitionScores::PartitionScores(const GaussianModel& model, Measure measure,
                                 Instructions instructions)
    : measure_(measure),
      instructions_(instructions),
      both_(RowsOf(model, model.Both(model.AllVariables())), model.variables(),
            {.group = model.lags() + 1, .in_begin = 0, .in_end = model.lags() + 1}, instructions) {
  const auto all = model.AllVariables();
  const int variables = model.variables();
  const int lags = model.lags();
  scores_.resize(both_.size());
  if (measure == Measure::kMultiInformation) return;
  past_.emplace(RowsOf(model, model.Past(all)), variables,
                SubsetRows{.group = lags, .in_begin = 0, .in_end = lags}, instructions);
  if (measure == Measure::kStochasticInteraction) return;
  present_.emplace(RowsOf(model, model.Present(all)), variables, SubsetRows{}, instructions);
  if (measure == Measure::kWholeMinusSum) return;
  across_.emplace(
      RowsOf(model, model.Both(all)), variables,
      SubsetRows{
          .group = lags + 1, .in_begin = 0, .in_end = lags, .out_begin = lags, .out_end = lags + 1},
      instructions);
}

std::span<double> PartitionScores::Of(std::size_t block) {
  const auto pair = [&](ComplementaryBlocks& blocks) -> Determinants::Pair {
    blocks.Write(block);
    return {blocks.subsets(), blocks.complements()};
  };
  Determinants of = {.both = pair(both_), .past = {}, .present = {}, .across = {}};
  if (past_) of.past = pair(*past_);
  if (present_) of.present = pair(*present_);
  if (across_) of.across = pair(*across_);
  Score(measure_, instructions_, of, scores_);
  return scores_;
}

PartitionNormalisers::PartitionNormalisers(const GaussianModel& model, Instructions instructions)
    : model_(model),
      present_(RowsOf(model, model.Present(model.AllVariables())), model.variables(), {},
               instructions) {
  for (int i = 0; i < model.variables(); ++i) {
    const int row = i * (model.lags() + 1) + model.lags();
    twice_.push_back(model.log_variances()[row] +
                     std::log(2.0 * std::numbers::pi * std::numbers::e));
  }
}

double PartitionNormalisers::EntropyOf(std::size_t mask, double determinant) const {
  double twice = std::log(determinant);
  for (std::size_t i = 0; i < twice_.size(); ++i) {
    if (((mask >> i) & 1U) != 0) twice += twice_[i];
  }
  return 0.5 * twice;
}

Status PartitionNormalisers::Apply(std::size_t block, double constant, std::span<double> scores) {
  present_.Write(block);
  const std::size_t full = (std::size_t{1} << twice_.size()) - 1;
  for (std::size_t i = block == 0 ? 1 : 0; i < scores.size(); ++i) {
    const std::size_t mask = block * scores.size() + i;
    const double* const complement = present_.complements() - i;
    const double normaliser =
        std::min(EntropyOf(mask, present_.subsets()[i]), EntropyOf(full - mask, *complement));
    if (normaliser <= 0.0) {
      const auto partition = MakeBipartition(mask, model_.variables());
      return InvalidArgument(
          "the normaliser of {} is {:.4g}, not positive: differential entropy depends on the units "
          "of the data; search without --normalised, or scale the variables",
          partition ? partition->Text() : "a partition", normaliser);
    }
    scores[i] = (0.5 * std::log(scores[i]) + constant) / normaliser;
  }
  return {};
}

}  // namespace reveza::phi
