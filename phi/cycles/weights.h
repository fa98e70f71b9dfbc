// The constant matrices of the model, generated from a seed. Thread-safe: immutable once made.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "phi/arithmetic/matrix_product.h"
#include "phi/cycles/model.h"

namespace reveza::phi {

// y = W x + offsets
struct Layer {
  PackedMatrix weights;
  std::vector<float> offsets;  // padded with +0 like the outputs
};

struct CycleWeights {
  PackedMatrix preconscious_to_conscious;  // d x d
  PackedMatrix unconscious_to_conscious;
  PackedMatrix conscious_to_unconscious;
  // The operator U diag(s) U^T of rank min(32, d): columns of U are orthonormal.
  PackedMatrix basis_transposed;    // rank x d
  PackedMatrix basis;               // d x rank
  std::vector<float> strengths;     // s, largest first; padded with +0 like the outputs
  std::array<Layer, 3> perceptron;  // d -> 128 -> 128 -> d

  // Returns the size of all packed matrices.
  std::size_t bytes() const;
};

// Generates the weights. The recurrent weights are 0.1 N(0, 1); the perceptron's follow the default
// initialisation of torch.nn.Linear, uniform between -1/sqrt(inputs) and 1/sqrt(inputs). The basis
// is the Q factor of a d x rank matrix of normal numbers; the strengths are quantiles of the
// singular values of a d x d one (StrengthOf). The bits do not depend on `instructions`.
CycleWeights MakeWeights(std::uint64_t seed, int dimension, Instructions instructions);

// Returns sqrt(d) times the quantile 1 - (index + 1/2) / d of the quarter-circle law
// sqrt(4 - s^2) / pi on [0, 2], the limit of the singular values, divided by sqrt(d), of a d x d
// matrix of independent standard normal numbers (V. A. Marchenko, L. A. Pastur: Distribution of
// eigenvalues for some sets of random matrices, Math. USSR-Sbornik 1 (1967), 457). Uses only sums,
// products, quotients and roots of doubles.
double StrengthOf(int index, int dimension);

}  // namespace reveza::phi
