// Interface of the engines that advance a batch of runs, on the CPU (below) or a GPU
// (phi/gpu). All engines produce the same bits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "phi/arithmetic/aligned_array.h"
#include "phi/arithmetic/processor.h"
#include "phi/cycles/model.h"

namespace reveza::phi {

struct EngineSettings {
  CycleConstants constants;
  std::uint64_t seed = 1;
  std::uint32_t first_run = 0;  // the runs are first_run, first_run + 1, ...
  int runs = 1;
  bool correlation = false;  // observe rho_correlation, which costs memory and time
};

// Validates the settings; kInvalidArgument names the valid range.
Status CheckSettings(const EngineSettings& settings);

// States of a batch after `cycle` cycles, in host memory. The layout is the same for every engine.
struct BatchState {
  std::uint64_t cycle = 0;
  AlignedArray<float> vectors;  // [run][kStateVectors][PaddedOf(dimension)]
  // Ring buffer of the triple in the last cycles, cycle c in slot (c - 1) % kCorrelationWindow:
  // [run][kCorrelationWindow][3][PaddedOf(dimension)]. Empty unless correlation is observed.
  AlignedArray<float> ring;
};

// Returns the size of a BatchState.
Bytes StateBytes(const EngineSettings& settings);

// Returns the state before the first cycle: embeddings 0.01 N(0, 1), recurrent triple N(0, 1).
BatchState InitialState(const EngineSettings& settings);

// Returns the state hash (see Observation) of the `run`-th run of the batch.
std::uint64_t HashOfRun(const BatchState& state, const EngineSettings& settings, int run);

// Not thread-safe.
class CycleEngine {
 public:
  virtual ~CycleEngine() = default;

  // Describes the engine for users and checkpoints, such as "cpu avx512".
  virtual std::string name() const = 0;

  // Advances all runs by `cycles` cycles. `observations` has cycles x runs elements;
  // observations[i * runs + r] receives run r after the i-th cycle. Results do not depend on how
  // cycles are divided into calls, nor on the other runs of the batch.
  virtual Status Advance(int cycles, std::span<Observation> observations) = 0;

  // Copy the states out and back in. Sizes are those of InitialState(); SetState() returns
  // kInvalidArgument for others.
  virtual Status CopyState(BatchState& to) const = 0;
  virtual Status SetState(const BatchState& from) = 0;
};

// CPU implementation of CycleEngine. Threads process groups of runs, or share the outputs of a
// single group if there are few runs. The division does not change the results.

struct CpuOptions {
  int threads = 1;
  Instructions instructions = SupportedInstructions();
};

// Returns the memory of weights and workspaces, without the states.
Bytes CpuWorkBytes(const EngineSettings& settings, int threads);

// Creates an engine in the initial state. Returns kInvalidArgument for invalid settings and
// kUnavailable for instructions that the processor does not support.
Result<std::unique_ptr<CycleEngine>> MakeCpuEngine(const EngineSettings& settings,
                                                   const CpuOptions& options);

}  // namespace reveza::phi
