// The parts of a cycle that process one run at a time, compiled once per instruction set; the
// matrix products between them are in cpu_engine.cc. Thread-safe for different runs.
#pragma once

#include <cstdint>

#include "phi/arithmetic/processor.h"
#include "phi/cycles/model.h"

namespace reveza::phi {

// One run in one cycle.
struct RunPass {
  const CycleConstants* constants;
  DrawPosition at;  // seed, run and cycle
  float* state;     // kStateVectors vectors of PaddedOf(dimension) floats
  float* work;      // scratch space for one such vector
};

struct CyclePasses {
  // Updates the recurrent triple from the products P = W_PC rho_P, Q = W_UC rho_U, R = W_CU rho_C
  // and L = U diag(s) U^T rho_U, then the modules before expectation, and writes the perceptron's
  // input, a noisy copy of meaning_maker, to `chosen`, which may be one of the products.
  struct Products {
    const float* from_preconscious;
    const float* from_unconscious;
    const float* from_conscious;
    const float* operated;
  };
  void (*first)(const RunPass& run, const Products& products, float* chosen);

  // Updates expectation from the output of the perceptron (offsets included), then imagination, and
  // fills the observation except rho_correlation.
  void (*last)(const RunPass& run, const float* perceived, Observation& observation);

  // scale: values[i] *= by[i]. offset: values[i] += by[i]; with `rectified`, negative results
  // become +0. `count` is a multiple of 16.
  void (*scale)(float* values, const float* by, int count);
  void (*offset)(float* values, const float* by, int count, bool rectified);

  // Returns rho_correlation over the first `filled` slots of a ring of kCorrelationWindow slots,
  // each holding the three vectors of the triple.
  float (*correlation)(const CycleConstants& constants, const float* ring, int filled);
};

// Returns the passes for `instructions`, or the plain ones on architectures other than x86-64.
const CyclePasses& PassesOf(Instructions instructions);

extern const CyclePasses kPlainPasses;
#ifdef __x86_64__
extern const CyclePasses kAvx2Passes;
extern const CyclePasses kAvx512Passes;
#endif

}  // namespace reveza::phi
