// The model: what is set, what a state is, where random numbers are drawn. docs/phi-cycles.md has
// the equations.
// Thread-safety: values and pure functions, for the processor and for a GPU.
#pragma once

#include <cstdint>

#include "phi/arithmetic/host_device.h"
#include "phi/arithmetic/phi_math.h"

namespace reveza::phi {

// The modules, in the order in which a cycle updates them. Each reads the one before it;
// imagination reads narrative and expectation; sensory_input reads noise and, with feedback,
// imagination.
enum Module : int {
  kSensoryInput,
  kQualia,
  kNarrative,
  kMeaningMaker,
  kExpectation,
  kImagination,
};
inline constexpr int kModules = 6;

// The vectors of one run's state, one after the other: the modules' embeddings, then the recurrent
// triple.
enum StateVector : int {
  kRhoConscious = kModules,
  kRhoPreconscious,
  kRhoUnconscious,
};
inline constexpr int kStateVectors = kModules + 3;

inline constexpr int kHiddenUnits = 128;       // of the perceptron of expectation
inline constexpr int kMostRank = 32;           // of the low-rank operator
inline constexpr int kCopies = 4;              // of which expectation takes one
inline constexpr int kCorrelationWindow = 20;  // cycles
inline constexpr int kLeastCorrelated = 3;     // cycles; of fewer nothing is said

// What decides the numbers, beside the seed. Defaults: the original's where it is known.
struct CycleConstants {
  int dimension = 768;
  float temperature = 0.0005F;    // T; the deviation of Langevin noise is sqrt(2 T)
  float repression = 0.8F;        // r: 1 - r of the unconscious reaches the conscious
  float decay = 0.95F;            // of the preconscious
  float least_variance = 0.001F;  // of a step of a module; less is filled up with noise
  float feedback = 0.0F;          // how much of imagination sensory_input reads; the original: none

  friend bool operator==(const CycleConstants&, const CycleConstants&) = default;
};

inline constexpr float kModuleNoise = 0.1F;        // deviation; of the copies, too
inline constexpr float kExpectationNoise = 0.05F;  // deviation
inline constexpr float kNormFloor = 0.9F;          // soft scaling: 0.9 + 0.1 |out| / max(1, |base|)
inline constexpr float kNormShare = 0.1F;
inline constexpr float kStartDeviation = 0.01F;    // of the embeddings before the first cycle
inline constexpr float kCouplingDeviation = 0.1F;  // of the weights of the recurrent triple

// Vectors are padded with +0 to a multiple of 64.
PHI_INLINE constexpr int GroupsOf(int dimension) { return (dimension + kGroup - 1) / kGroup; }
PHI_INLINE constexpr int PaddedOf(int dimension) { return GroupsOf(dimension) * kGroup; }
PHI_INLINE constexpr int RankOf(int dimension) {
  return dimension < kMostRank ? dimension : kMostRank;
}
// sensory_input and narrative are written twice in a cycle.
PHI_INLINE constexpr int WritesOf(int module) {
  return module == kSensoryInput || module == kNarrative ? 2 : 1;
}

// Where random numbers are drawn: the site of a DrawPosition is 16 times the state's vector plus
// one of these. The cycle counts from 1; cycle 0 makes the state before it.
enum DrawSite : std::uint32_t {
  kDrawStart = 0,
  kDrawBase = 1,      // sensory_input
  kDrawNoise = 2,     // all modules
  kDrawChoice = 3,    // expectation: the upper 2 bits of word 0 of block 0 choose the copy
  kDrawCopy = 4,      // expectation: and three more
  kDrawLangevin = 8,  // and one more for the second write
  kDrawFloor = 10,    // and one more for the second write
};
PHI_INLINE constexpr std::uint32_t SiteOf(int vector, std::uint32_t draw) {
  return static_cast<std::uint32_t>(vector) * 16 + draw;
}
// Weights are drawn as of run 0xffffffff, with these sites.
inline constexpr std::uint32_t kWeightsRun = 0xffffffffU;
enum WeightSite : std::uint32_t {
  kPreconsciousToConscious = 0x1000,
  kUnconsciousToConscious,
  kConsciousToUnconscious,
  kBasis,
  kPerceptronFirst,  // its weights; then its offsets, and so on
};

// What one cycle of one run leaves to look at.
struct Observation {
  std::uint64_t hash = 0;  // of the state: the sum of HashWord over its vectors, padding included
  float mean[kModules] = {};   // of each module's embedding
  float first[kModules] = {};  // element 0 of each
  float rho_norm[3] = {};      // of conscious, preconscious, unconscious
  // The mean over elements and the three pairs of the triple of |Pearson's r| over the last 20
  // cycles; negative where it was not asked for or there are fewer than 3 cycles.
  float rho_correlation = -1;
};

}  // namespace reveza::phi
