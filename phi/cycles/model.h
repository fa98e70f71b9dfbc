// The model: its constants, the layout of a state and the positions of random draws.
// docs/phi-cycles.md has the equations. Thread-safe: values and pure functions, for CPU and GPU.
#pragma once

#include <cstdint>

#include "phi/arithmetic/host_device.h"
#include "phi/arithmetic/phi_math.h"

namespace reveza::phi {

// The modules, in update order. Each reads the one before it;
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

// The state vectors of one run, in order: the modules' embeddings, then the recurrent triple.
enum StateVector : int {
  kRhoConscious = kModules,
  kRhoPreconscious,
  kRhoUnconscious,
};
inline constexpr int kStateVectors = kModules + 3;

inline constexpr int kHiddenUnits = 128;       // of the perceptron of expectation
inline constexpr int kMaxRank = 32;            // of the low-rank operator
inline constexpr int kCopies = 4;              // noisy copies, of which expectation picks one
inline constexpr int kCorrelationWindow = 20;  // cycles
inline constexpr int kMinCorrelated = 3;       // cycles; fewer have no correlation

// Constants that, with the seed, determine every result. Defaults follow OmniMind where known.
struct CycleConstants {
  int dimension = 768;
  float temperature = 0.0005F;  // T; Langevin noise has standard deviation sqrt(2 T)
  float repression = 0.8F;      // r: 1 - r of the unconscious reaches the conscious
  float decay = 0.95F;          // of the preconscious
  float min_variance = 0.001F;  // minimum variance of a module's step, enforced by noise
  float feedback = 0.0F;        // weight of imagination in sensory_input; 0 in OmniMind

  friend bool operator==(const CycleConstants&, const CycleConstants&) = default;
};

inline constexpr float kModuleNoise = 0.1F;        // standard deviation; also of the copies
inline constexpr float kExpectationNoise = 0.05F;  // standard deviation
inline constexpr float kNormFloor = 0.9F;          // soft scaling: 0.9 + 0.1 |out| / max(1, |base|)
inline constexpr float kNormShare = 0.1F;
inline constexpr float kStartDeviation = 0.01F;    // of the initial embeddings
inline constexpr float kCouplingDeviation = 0.1F;  // of the recurrent weights

// Vectors are padded with +0 to a multiple of 64 elements.
PHI_INLINE constexpr int GroupsOf(int dimension) { return (dimension + kGroup - 1) / kGroup; }
PHI_INLINE constexpr int PaddedOf(int dimension) { return GroupsOf(dimension) * kGroup; }
PHI_INLINE constexpr int RankOf(int dimension) {
  return dimension < kMaxRank ? dimension : kMaxRank;
}
// Returns the writes of a module per cycle: two for sensory_input and narrative, else one.
PHI_INLINE constexpr int WritesOf(int module) {
  return module == kSensoryInput || module == kNarrative ? 2 : 1;
}

// Sites of random draws: DrawPosition::site is 16 times the state vector plus one of these. Cycles
// count from 1; cycle 0 draws the initial state.
enum DrawSite : std::uint32_t {
  kDrawStart = 0,
  kDrawBase = 1,      // sensory_input
  kDrawNoise = 2,     // all modules
  kDrawChoice = 3,    // expectation: the upper 2 bits of word 0 of block 0 choose the copy
  kDrawCopy = 4,      // expectation: four consecutive sites
  kDrawLangevin = 8,  // two consecutive sites, one per write
  kDrawFloor = 10,    // two consecutive sites, one per write
};
PHI_INLINE constexpr std::uint32_t SiteOf(int vector, std::uint32_t draw) {
  return static_cast<std::uint32_t>(vector) * 16 + draw;
}
// Weights are drawn at run 0xffffffff and these sites.
inline constexpr std::uint32_t kWeightsRun = 0xffffffffU;
enum WeightSite : std::uint32_t {
  kPreconsciousToConscious = 0x1000,
  kUnconsciousToConscious,
  kConsciousToUnconscious,
  kBasis,
  kPerceptronFirst,  // weights of the first layer; then its offsets, and so on
};

// The outputs of one cycle of one run.
struct Observation {
  std::uint64_t hash = 0;      // sum of HashWord over the state vectors, padding included
  float mean[kModules] = {};   // mean of each embedding
  float first[kModules] = {};  // element 0 of each embedding
  float rho_norm[3] = {};      // of conscious, preconscious, unconscious
  // Mean of |Pearson's r| over the last 20 cycles, averaged over elements and the three pairs of
  // the triple; negative if not requested or after fewer than 3 cycles.
  float rho_correlation = -1;
};

}  // namespace reveza::phi
