#include "phi/cycles/engine.h"

#include <cmath>
#include <limits>

#include "phi/arithmetic/kernels.h"

namespace reveza::phi {
namespace {

constexpr int kMaxDimension = 1 << 16;

std::size_t VectorsSize(const EngineSettings& settings) {
  return static_cast<std::size_t>(settings.runs) * kStateVectors *
         static_cast<std::size_t>(PaddedOf(settings.constants.dimension));
}

std::size_t RingSize(const EngineSettings& settings) {
  if (!settings.correlation) return 0;
  return static_cast<std::size_t>(settings.runs) * kCorrelationWindow * 3 *
         static_cast<std::size_t>(PaddedOf(settings.constants.dimension));
}

Status CheckRange(const char* name, float value, float min, float max) {
  if (value >= min && value <= max) return {};
  return InvalidArgument("{} is {}; use a number from {} to {}", name, value, min, max);
}

}  // namespace

Status CheckSettings(const EngineSettings& settings) {
  const CycleConstants& constants = settings.constants;
  if (constants.dimension < 1 || constants.dimension > kMaxDimension) {
    return InvalidArgument("--dimension: {} elements per module; use 1 to {}", constants.dimension,
                           kMaxDimension);
  }
  if (settings.runs < 1 ||
      static_cast<std::uint64_t>(settings.first_run) + static_cast<std::uint64_t>(settings.runs) >
          kWeightsRun) {
    return InvalidArgument("{} runs from run {}; use at least 1, all below run {}", settings.runs,
                           settings.first_run, kWeightsRun);
  }
  constexpr float kMaxMagnitude = 1000;
  for (const Status& status :
       {CheckRange("the temperature", constants.temperature, 0, kMaxMagnitude),
        CheckRange("the repression", constants.repression, 0, 1),
        CheckRange("the decay", constants.decay, 0, 1),
        CheckRange("the least variance", constants.min_variance, 0, kMaxMagnitude),
        CheckRange("the feedback", constants.feedback, -kMaxMagnitude, kMaxMagnitude)}) {
    if (!status) return status;
  }
  return {};
}

Bytes StateBytes(const EngineSettings& settings) {
  return (VectorsSize(settings) + RingSize(settings)) * sizeof(float);
}

std::uint64_t HashOfRun(const BatchState& state, const EngineSettings& settings, int run) {
  const int size = kStateVectors * PaddedOf(settings.constants.dimension);
  return KernelsOf(SupportedInstructions())
      .hash(state.vectors.data() + static_cast<std::ptrdiff_t>(run) * size, size, 0);
}

BatchState InitialState(const EngineSettings& settings) {
  BatchState state;
  state.vectors = AlignedArray<float>(VectorsSize(settings));
  state.ring = AlignedArray<float>(RingSize(settings));
  const int dimension = settings.constants.dimension;
  const ArithmeticKernels& kernels = KernelsOf(SupportedInstructions());
  float* vector = state.vectors.data();
  for (int run = 0; run < settings.runs; ++run) {
    for (int i = 0; i < kStateVectors; ++i, vector += PaddedOf(dimension)) {
      kernels.normals({.key = KeyOf(settings.seed),
                       .run = settings.first_run + static_cast<std::uint32_t>(run),
                       .cycle = 0,
                       .site = SiteOf(i, kDrawStart)},
                      GroupsOf(dimension), vector);
      for (int k = 0; k < PaddedOf(dimension); ++k) {
        if (k >= dimension) vector[k] = 0;
        if (i < kModules) vector[k] *= kStartDeviation;
      }
    }
  }
  return state;
}

}  // namespace reveza::phi
