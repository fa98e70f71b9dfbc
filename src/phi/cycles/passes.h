// The parts of a cycle that look at one run at a time, compiled once for each set of instructions.
// Between them stand the products of matrices (cpu_engine.cc). Thread-safe for different runs.
#pragma once

#include <cstdint>

#include "phi/arithmetic/processor.h"
#include "phi/cycles/model.h"

namespace reveza::phi {

// One run at one cycle.
struct RunPass {
  const CycleConstants* constants;
  DrawPosition at;  // of the seed, the run and the cycle
  float* state;     // kStateVectors vectors of PaddedOf(dimension) numbers
  float* work;      // room for one such vector
};

struct CyclePasses {
  // The mean of the six embeddings.
  void (*stimulus)(const RunPass& run, float* to);

  // The recurrent triple, from the products P = W_PC rho_P, Q = W_UC rho_U, R = W_CU rho_C and
  // L = U diag(s) U^T rho_U; then the modules before expectation; then the noisy copy that the
  // perceptron is given, into `chosen`.
  struct Products {
    const float* stimulus;
    const float* from_preconscious;
    const float* from_unconscious;
    const float* from_conscious;
    const float* operated;
  };
  void (*first)(const RunPass& run, const Products& products, float* chosen);

  // Expectation from what the perceptron gave (with its offsets added), then imagination; then what
  // is observed but rho_correlation.
  void (*last)(const RunPass& run, const float* perceived, Observation& observation);

  // values[i] *= by[i]; values[i] += by[i], and then, with `rectified`, what is negative is +0.
  // `count` is a multiple of 16.
  void (*scale)(float* values, const float* by, int count);
  void (*offset)(float* values, const float* by, int count, bool rectified);

  // rho_correlation of the first `filled` slots of a ring of kCorrelationWindow slots, each the
  // three vectors of the triple.
  float (*correlation)(const CycleConstants& constants, const float* ring, int filled);
};

const CyclePasses& PassesOf(Instructions instructions);

extern const CyclePasses kPlainPasses;
#ifdef __x86_64__
extern const CyclePasses kAvx2Passes;
extern const CyclePasses kAvx512Passes;
#endif

}  // namespace reveza::phi
