// Gaussian elimination of rows of covariances, by threads in lockstep.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "phi/arithmetic/processor.h"
#include "phi/arithmetic/stage_barrier.h"
#include "phi/measures/matrix.h"

namespace reveza::phi {

// One of the threads of a search, which take the same steps at the same time.
struct LockstepMember {
  StageBarrier& barrier;
  int index;
  int count;

  bool Owns(std::size_t item) const {
    return item % static_cast<std::size_t>(count) == static_cast<std::size_t>(index);
  }
  void Wait() const {
    if (count > 1) barrier.Wait(count);
  }
};

// A symmetric positive definite matrix from which rows are eliminated: the others become their
// Schur complement. Only the upper triangle is kept. Has the same bits for any instructions.
class Elimination {
 public:
  Elimination(Matrix matrix, Instructions instructions)
      : whole_(std::move(matrix)), left_(whole_), instructions_(instructions) {}

  // Undoes all eliminations: the member's share.
  void Restart(const LockstepMember& member);

  // Rows to eliminate, each after the elimination of those before it.
  struct Pivots {
    std::vector<int> rows;
    Matrix values;
    std::vector<double> inverses;  // of the diagonal
  };
  Pivots PivotsOf(std::vector<int> rows) const;

  // Updates the member's share of the rows `others`; those eliminated stay as they are.
  void Eliminate(const Pivots& pivots, const std::vector<int>& others,
                 const LockstepMember& member);

  // Returns log |block of these rows|; infinity if rounding errors made it indefinite.
  double LogDeterminant(const std::vector<int>& rows) const;

  // Returns the seconds of one update of a value, measured with rows of this number of them.
  static double SecondsPerUpdate(std::size_t width, Instructions instructions);

 private:
  std::size_t Width() const { return static_cast<std::size_t>(left_.columns()); }

  Matrix whole_, left_;
  Instructions instructions_;
};

}  // namespace reveza::phi
