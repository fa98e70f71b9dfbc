// Scores of all bipartitions of a model, by which an exhaustive search ranks them. For
// minimum_partition.cc only. Not thread-safe, except for different objects.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/measures.h"
#include "phi/measures/subset_determinants.h"

namespace reveza::phi {

// Determinants of a block of subsets and of their complements: a determinant is wanted once as that
// of a part and once as that of the other, so that none is kept.
class ComplementaryBlocks {
 public:
  ComplementaryBlocks(const Matrix& matrix, int variables, const SubsetRows& rows,
                      Instructions instructions);

  // Returns the number of blocks of subsets without the last variable, and the subsets of each.
  std::size_t count() const;
  std::size_t size() const;

  void Write(std::size_t block);
  // The determinants of the block's subsets; those of their complements in descending order.
  const double* subsets() const { return subsets_.data(); }
  const double* complements() const { return complements_; }

 private:
  SubsetBlocks ascending_, descending_;
  std::vector<double> subsets_, others_;
  const double* complements_ = nullptr;  // of the block's first subset
};

class PartitionScores {
 public:
  // `measure` is mi, si, wms or phi_r.
  PartitionScores(const GaussianModel& model, Measure measure, Instructions instructions);

  std::size_t blocks() const { return both_.count(); }
  // Returns the scores of the subsets from block * size on: exp of twice the measure of the
  // partition into the subset and its complement, up to a constant factor.
  std::span<double> Of(std::size_t block);

 private:
  Measure measure_;
  Instructions instructions_;
  ComplementaryBlocks both_;
  std::optional<ComplementaryBlocks> past_, present_, across_;
  std::vector<double> scores_;
};

// Divides the measure of a bipartition by the smaller entropy of the presents of its parts.
class PartitionNormalisers {
 public:
  PartitionNormalisers(const GaussianModel& model, Instructions instructions);

  // Replaces the scores of a block by (log(score) / 2 + constant) / normaliser. kInvalidArgument if
  // a normaliser is not positive.
  Status Apply(std::size_t block, double constant, std::span<double> scores);

 private:
  double EntropyOf(std::size_t mask, double determinant) const;

  const GaussianModel& model_;
  ComplementaryBlocks present_;
  std::vector<double> twice_;  // of each variable, what its units add to twice the entropy
};

}  // namespace reveza::phi
