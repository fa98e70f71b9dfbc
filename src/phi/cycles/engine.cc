#include "phi/cycles/engine.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "phi/arithmetic/kernels.h"

namespace reveza::phi {
namespace {

constexpr int kMostDimension = 1 << 16;

std::size_t VectorsSize(const EngineSettings& settings) {
  return static_cast<std::size_t>(settings.runs) * kStateVectors *
         static_cast<std::size_t>(PaddedOf(settings.constants.dimension));
}

std::size_t RingSize(const EngineSettings& settings) {
  if (!settings.correlation) return 0;
  return static_cast<std::size_t>(settings.runs) * kCorrelationWindow * 3 *
         static_cast<std::size_t>(PaddedOf(settings.constants.dimension));
}

Status CheckShare(const char* name, float value, float least, float most) {
  if (value >= least && value <= most) return {};
  return Fail(Error::Code::kInvalidArgument,
              fmt::format("{} is {}; take a number from {} to {}", name, value, least, most));
}

}  // namespace

Status CheckSettings(const EngineSettings& settings) {
  const CycleConstants& constants = settings.constants;
  if (constants.dimension < 1 || constants.dimension > kMostDimension) {
    return Fail(Error::Code::kInvalidArgument, fmt::format("a module has {} elements; take 1 to {}",
                                                           constants.dimension, kMostDimension));
  }
  if (settings.runs < 1 ||
      static_cast<std::uint64_t>(settings.first_run) + static_cast<std::uint64_t>(settings.runs) >
          kWeightsRun) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("{} runs from run {} on; take at least 1, below run {}", settings.runs,
                            settings.first_run, kWeightsRun));
  }
  constexpr float kMost = 1000;
  for (const Status& status : {CheckShare("the temperature", constants.temperature, 0, kMost),
                               CheckShare("the repression", constants.repression, 0, 1),
                               CheckShare("the decay", constants.decay, 0, 1),
                               CheckShare("the least variance", constants.least_variance, 0, kMost),
                               CheckShare("the feedback", constants.feedback, -kMost, kMost)}) {
    if (!status) return status;
  }
  return {};
}

Bytes StateBytes(const EngineSettings& settings) {
  return (VectorsSize(settings) + RingSize(settings)) * sizeof(float);
}

std::uint64_t HashOfRun(const BatchState& state, const EngineSettings& settings, int run) {
  const int size = kStateVectors * PaddedOf(settings.constants.dimension);
  return KernelsOf(InstructionsOfProcessor())
      .hash(state.vectors.data() + static_cast<std::ptrdiff_t>(run) * size, size, 0);
}

BatchState StartState(const EngineSettings& settings) {
  BatchState state;
  state.vectors = AlignedArray<float>(VectorsSize(settings));
  state.ring = AlignedArray<float>(RingSize(settings));
  const int dimension = settings.constants.dimension;
  const ArithmeticKernels& kernels = KernelsOf(InstructionsOfProcessor());
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
