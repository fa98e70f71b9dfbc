// What advances a batch of runs: on the processor (cpu_engine.h), or on whatever else gives the
// same bits.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "phi/arithmetic/aligned_array.h"
#include "phi/cycles/model.h"

namespace reveza::phi {

struct EngineSettings {
  CycleConstants constants;
  std::uint64_t seed = 1;
  std::uint32_t first_run = 0;  // the runs are first_run, first_run + 1, ...
  int runs = 1;
  bool correlation = false;  // whether rho_correlation is observed, which needs memory and time
};

// Refuses what no engine can do, and says what would be right.
Status CheckSettings(const EngineSettings& settings);

// The states of a batch after `cycle` cycles, in host memory, the same for every engine.
struct BatchState {
  std::uint64_t cycle = 0;
  AlignedArray<float> vectors;  // [run][kStateVectors][PaddedOf(dimension)]
  // The triple of the last cycles, cycle c in slot (c - 1) % kCorrelationWindow:
  // [run][kCorrelationWindow][3][PaddedOf(dimension)]. Empty unless correlation is observed.
  AlignedArray<float> ring;
};

Bytes StateBytes(const EngineSettings& settings);

// The state before the first cycle: embeddings 0.01 N(0, 1), the recurrent triple N(0, 1).
BatchState StartState(const EngineSettings& settings);

// The hash (Observation) of the state of the batch's `run`-th run.
std::uint64_t HashOfRun(const BatchState& state, const EngineSettings& settings, int run);

// Not safe from several threads.
class CycleEngine {
 public:
  virtual ~CycleEngine() = default;

  // What computes, for people and checkpoints: "cpu avx512".
  virtual std::string name() const = 0;

  // After `cycles` further cycles of all runs. observations[i * runs + r] is run r's after the i-th
  // of them; as many as cycles x runs. What a run gives does not depend on how cycles are divided
  // into calls, nor on the runs beside it.
  virtual Status Advance(int cycles, std::span<Observation> observations) = 0;

  // A copy of the states, and back. The sizes are those of StartState.
  virtual Status CopyState(BatchState& to) const = 0;
  virtual Status SetState(const BatchState& from) = 0;
};

}  // namespace reveza::phi
