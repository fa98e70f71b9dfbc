#include "phi/gpu/gpu_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "common/base/units.h"
#include "phi/gpu/driver.h"
#include "phi/gpu/kernel_arguments.h"
#include "phi/gpu/launcher.h"

namespace reveza::phi {
namespace {

// Cycles whose observations are copied to the host together when no graph is used.
constexpr int kChunkWithoutGraph = 16;

// Double buffering: one buffer is filled while the other is drained.
constexpr std::size_t kPinned = 2;

int ChunkOf(const GpuOptions& options) {
  return options.graph_cycles > 0 ? options.graph_cycles : kChunkWithoutGraph;
}

// Returns the size of the intermediate arrays that kernels pass on, in floats per run.
std::int64_t WorkSize(int dimension) {
  return 6 * std::int64_t{PaddedOf(dimension)} + kGroup + 2 * kHiddenUnits;
}

std::size_t ObservationBytes(const EngineSettings& settings, const GpuOptions& options) {
  return static_cast<std::size_t>(ChunkOf(options)) * static_cast<std::size_t>(settings.runs) *
         sizeof(Observation);
}

class GpuEngine final : public CycleEngine {
 public:
  GpuEngine(const EngineSettings& settings, const GpuOptions& options)
      : settings_(settings), options_(options), padded_(PaddedOf(settings.constants.dimension)) {}

  Status Initialize() {
    ASSIGN_OR_RETURN(driver_, GpuDriver::Open(options_.device, options_.library));
    const auto free = driver_->FreeMemory();
    const Bytes needed = GpuBytes(settings_, options_);
    if (free && *free < needed) {
      return Fail(
          Error::Code::kExhausted,
          "{} runs of {} elements need {} of the GPU's memory, and {} are free; use fewer runs",
          settings_.runs, settings_.constants.dimension, FormatBytes(needed), FormatBytes(*free));
    }
    const CycleWeights weights =
        MakeWeights(settings_.seed, settings_.constants.dimension, SupportedInstructions());
    ASSIGN_OR_RETURN(weights_, CopyWeights(driver_, weights));
    RETURN_IF_ERROR(AllocateAll());
    ASSIGN_OR_RETURN(launcher_, GpuLauncher::Make(driver_));
    RETURN_IF_ERROR(SetState(InitialState(settings_)));
    if (options_.graph_cycles <= 0) return {};
    return launcher_->Capture([this] { return LaunchCycles(options_.graph_cycles); });
  }

  std::string name() const override { return fmt::format("gpu {}", driver_->gpu()); }

  Status Advance(int cycles, std::span<Observation> observations) override {
    // The next chunk is computed while the observations of the last are copied out.
    int turn = 0;
    PendingCopy before;
    for (int done = 0; done < cycles;) {
      const int count = std::min(ChunkOf(options_), cycles - done);
      const bool whole = launcher_->captured() && count == options_.graph_cycles;
      RETURN_IF_ERROR(whole ? launcher_->Replay() : LaunchCycles(count));
      const std::size_t first = static_cast<std::size_t>(done) * Runs();
      PendingCopy taken{turn,
                        observations.subspan(first, static_cast<std::size_t>(count) * Runs())};
      if (auto made = launcher_->CopyOut(turn, pinned_[turn].get(), observed_.as<const void>(),
                                         taken.to.size_bytes());
          !made) {
        return made;
      }
      RETURN_IF_ERROR(Collect(before));
      before = taken;
      turn ^= 1;
      done += count;
    }
    RETURN_IF_ERROR(Collect(before));
    cycle_ += static_cast<std::uint64_t>(cycles);
    return {};
  }

  Status CopyState(BatchState& to) const override {
    to.cycle = cycle_;
    to.vectors = AlignedArray<float>(state_.bytes() / sizeof(float));
    to.ring = AlignedArray<float>(settings_.correlation ? ring_.bytes() / sizeof(float) : 0);
    RETURN_IF_ERROR(state_.CopyTo(to.vectors.data()));
    return settings_.correlation ? ring_.CopyTo(to.ring.data()) : Status{};
  }

  Status SetState(const BatchState& from) override {
    const std::size_t ring = settings_.correlation ? ring_.bytes() : 0;
    if (from.vectors.size() * sizeof(float) != state_.bytes() ||
        from.ring.size() * sizeof(float) != ring) {
      return InvalidArgument("the state has a different number of runs or dimension");
    }
    RETURN_IF_ERROR(state_.CopyFrom(from.vectors.data()));
    if (settings_.correlation) {
      RETURN_IF_ERROR(ring_.CopyFrom(from.ring.data()));
    }
    cycle_ = from.cycle;
    RETURN_IF_ERROR(count_.CopyFrom(&cycle_));
    // Copies may complete after their call returns, and the non-blocking stream does not wait.
    return driver_->WaitForAll();
  }

 private:
  // Observations of a chunk that are being copied through pinned memory.
  struct PendingCopy {
    int turn = 0;
    std::span<Observation> to;
  };

  std::size_t Runs() const { return static_cast<std::size_t>(settings_.runs); }

  Status AllocateAll() {
    const auto numbers = [this](std::int64_t each) {
      return Runs() * static_cast<std::size_t>(each) * sizeof(float);
    };
    const std::int64_t ring = settings_.correlation ? kCorrelationWindow * 3 * padded_ : 1;
    const std::array<std::pair<GpuMemory*, std::size_t>, 5> all = {{
        {&state_, numbers(kStateVectors * padded_)},
        {&ring_, numbers(ring)},
        {&work_, numbers(WorkSize(settings_.constants.dimension))},
        {&observed_, ObservationBytes(settings_, options_)},
        {&count_, sizeof(std::uint64_t)},
    }};
    for (const auto& [memory, bytes] : all) {
      ASSIGN_OR_RETURN(*memory, GpuMemory::Allocate(driver_, bytes));
    }
    for (auto& each : pinned_) {
      ASSIGN_OR_RETURN(each, AllocatePinned(driver_, ObservationBytes(settings_, options_)));
    }
    return {};
  }

  // The arguments of the passes, with the consecutive arrays of work_, and the arrays between the
  // layers of the perceptron.
  struct Work {
    GpuPass pass;
    float* hidden;
    float* hidden_again;
  };
  Work WorkArrays() const {
    const std::int64_t runs = settings_.runs;
    auto* at = work_.as<float>();
    const auto next = [&at, runs](std::int64_t each) {
      return std::exchange(at, at + runs * each);
    };
    return {.pass = {.constants = settings_.constants,
                     .key = KeyOf(settings_.seed),
                     .first_run = settings_.first_run,
                     .runs = settings_.runs,
                     .correlation = settings_.correlation ? 1 : 0,
                     .cycle = count_.as<const std::uint64_t>(),
                     .step = 0,
                     .state = state_.as<float>(),
                     .ring = ring_.as<float>(),
                     .from_preconscious = next(padded_),
                     .from_unconscious = next(padded_ + kGroup),
                     .from_conscious = next(padded_),
                     .operated = next(padded_),
                     .chosen = next(padded_),
                     .perceived = next(padded_),
                     .observations = observed_.as<Observation>()},
            .hidden = next(kHiddenUnits),
            .hidden_again = next(kHiddenUnits)};
  }

  Status LaunchCycles(int cycles) {
    auto [pass, hidden, hidden_again] = WorkArrays();
    const std::int64_t state = kStateVectors * padded_;
    const auto vector = [&](int which) { return state_.as<const float>() + which * padded_; };
    const std::array recurrent = {
        weights_.preconscious.Product(vector(kRhoPreconscious), state, pass.from_preconscious,
                                      padded_),
        weights_.unconscious.Product(vector(kRhoUnconscious), state, pass.from_unconscious,
                                     padded_ + kGroup),
        weights_.conscious.Product(vector(kRhoConscious), state, pass.from_conscious, padded_)};
    const GpuProduct operated = weights_.basis.Product(pass.from_unconscious + padded_,
                                                       padded_ + kGroup, pass.operated, padded_);
    const std::array layers = {
        weights_.perceptron[0].Product(pass.chosen, padded_, hidden, kHiddenUnits, true),
        weights_.perceptron[1].Product(hidden, kHiddenUnits, hidden_again, kHiddenUnits, true),
        weights_.perceptron[2].Product(hidden_again, kHiddenUnits, pass.perceived, padded_)};
    for (int step = 0; step < cycles; ++step) {
      pass.step = step;
      RETURN_IF_ERROR(launcher_->Products(recurrent, settings_.runs));
      RETURN_IF_ERROR(launcher_->Products({&operated, 1}, settings_.runs));
      RETURN_IF_ERROR(launcher_->FirstPass(pass));
      for (const GpuProduct& layer : layers) {
        if (auto done = launcher_->Products({&layer, 1}, settings_.runs); !done) return done;
      }
      RETURN_IF_ERROR(launcher_->LastPass(pass));
    }
    return launcher_->Count(count_.as<std::uint64_t>(), cycles);
  }

  Status Collect(const PendingCopy& taken) {
    if (taken.to.empty()) return {};
    RETURN_IF_ERROR(launcher_->WaitForCopy(taken.turn));
    std::memcpy(taken.to.data(), pinned_[taken.turn].get(), taken.to.size_bytes());
    return {};
  }

  EngineSettings settings_;
  GpuOptions options_;
  std::int64_t padded_;
  GpuDriverPointer driver_;
  GpuWeights weights_;
  GpuMemory state_;
  GpuMemory ring_;
  GpuMemory work_;
  GpuMemory observed_;
  GpuMemory count_;  // cycles done
  std::array<std::shared_ptr<void>, kPinned> pinned_;
  std::unique_ptr<GpuLauncher> launcher_;
  std::uint64_t cycle_ = 0;
};

int StrideOf(int outputs) { return (outputs + kGpuLargeTile - 1) / kGpuLargeTile * kGpuLargeTile; }

Result<GpuMemory> Copy(const GpuDriverPointer& driver, const std::vector<float>& values) {
  auto memory = GpuMemory::Allocate(driver, values.size() * sizeof(float));
  if (!memory) return memory;
  RETURN_IF_ERROR(memory->CopyFrom(values.data()));
  return memory;
}

// Copies `first`, with the outputs of `second`, if given, after its padded outputs.
Result<GpuMatrix> CopyMatrix(const GpuDriverPointer& driver, const PackedMatrix& first,
                             const PackedMatrix* second = nullptr,
                             const std::vector<float>* offsets = nullptr) {
  GpuMatrix made;
  made.inputs = first.inputs();
  const int own = PaddedOf(first.outputs());
  made.outputs = own + (second == nullptr ? 0 : PaddedOf(second->outputs()));
  made.stride = StrideOf(made.outputs);
  const auto stride = static_cast<std::size_t>(made.stride);
  std::vector<float> values(static_cast<std::size_t>(made.inputs) * stride);
  const auto fill = [&](const PackedMatrix& matrix, int place) {
    for (int k = 0; k < matrix.inputs(); ++k) {
      float* row = values.data() + static_cast<std::size_t>(k) * stride + place;
      for (int o = 0; o < matrix.outputs(); ++o) row[o] = matrix.At(o, k);
    }
  };
  fill(first, 0);
  if (second != nullptr) fill(*second, own);
  ASSIGN_OR_RETURN(made.weights, Copy(driver, values));
  if (offsets != nullptr) {
    std::vector<float> padded(stride);
    std::ranges::copy(*offsets, padded.begin());
    ASSIGN_OR_RETURN(made.offsets, Copy(driver, padded));
  }
  return made;
}

}  // namespace

Bytes GpuBytes(const EngineSettings& settings, const GpuOptions& options) {
  const auto work = static_cast<Bytes>(WorkSize(settings.constants.dimension));
  return StateBytes(settings) + static_cast<Bytes>(settings.runs) * work * sizeof(float) +
         ObservationBytes(settings, options) + GpuWeightBytes(settings.constants.dimension);
}

Bytes GpuHostBytes(const EngineSettings& settings, const GpuOptions& options) {
  return kPinned * ObservationBytes(settings, options) +
         2 * GpuWeightBytes(settings.constants.dimension);
}

Result<std::unique_ptr<CycleEngine>> MakeGpuEngine(const EngineSettings& settings,
                                                   const GpuOptions& options) {
  RETURN_IF_ERROR(CheckSettings(settings));
  if (GpuPassBytes(settings.constants.dimension) > kMaxGpuPassBytes) {
    return InvalidArgument(
        "--dimension: {} elements exceed the shared memory of a block; use at most {}, or --device "
        "cpu",
        settings.constants.dimension, kMaxGpuPassBytes / 8);
  }
  constexpr int kMaxRuns = kMaxGpuTilesOfRuns * kGpuSmallTile;
  if (settings.runs > kMaxRuns) {
    return InvalidArgument(
        "--runs: {} exceeds the grid of a GPU; use at most {}, and --first-run for the rest",
        settings.runs, kMaxRuns);
  }
  auto engine = std::make_unique<GpuEngine>(settings, options);
  RETURN_IF_ERROR(engine->Initialize());
  return engine;
}

GpuProduct GpuMatrix::Product(const float* x, std::int64_t x_stride, float* y,
                              std::int64_t y_stride, bool rectified) const {
  return {.x = x,
          .weights = weights.as<const float>(),
          .factors = factors.as<const float>(),
          .offsets = offsets.as<const float>(),
          .y = y,
          .x_stride = x_stride,
          .y_stride = y_stride,
          .inputs = inputs,
          .outputs = outputs,
          .weights_stride = stride,
          .rectified = rectified ? 1 : 0};
}

Result<GpuWeights> CopyWeights(const GpuDriverPointer& driver, const CycleWeights& weights) {
  GpuWeights made;
  ASSIGN_OR_RETURN(made.preconscious, CopyMatrix(driver, weights.preconscious_to_conscious));
  ASSIGN_OR_RETURN(made.unconscious,
                   CopyMatrix(driver, weights.unconscious_to_conscious, &weights.basis_transposed));
  ASSIGN_OR_RETURN(made.conscious, CopyMatrix(driver, weights.conscious_to_unconscious));
  for (std::size_t i = 0; i < made.perceptron.size(); ++i) {
    const Layer& layer = weights.perceptron[i];
    ASSIGN_OR_RETURN(made.perceptron[i],
                     CopyMatrix(driver, layer.weights, nullptr, &layer.offsets));
  }
  ASSIGN_OR_RETURN(made.basis, CopyMatrix(driver, weights.basis));
  // A factor of 1 leaves the other outputs exact.
  std::vector<float> factors(static_cast<std::size_t>(made.unconscious.stride), 1.0F);
  const auto first = factors.begin() + PaddedOf(weights.basis.outputs());
  std::copy_n(weights.strengths.begin(), weights.basis.inputs(), first);
  ASSIGN_OR_RETURN(made.unconscious.factors, Copy(driver, factors));
  return made;
}

Bytes GpuWeightBytes(int dimension) {
  const auto hidden = static_cast<Bytes>(StrideOf(kHiddenUnits));
  const auto stride = static_cast<Bytes>(StrideOf(PaddedOf(dimension)));
  const auto with_coordinates = static_cast<Bytes>(StrideOf(PaddedOf(dimension) + kGroup));
  const auto inputs = static_cast<Bytes>(dimension);
  const Bytes numbers = inputs * (2 * stride + with_coordinates + hidden) +
                        kHiddenUnits * (hidden + stride) + 2 * hidden + stride + kMaxRank * stride +
                        with_coordinates;
  return numbers * sizeof(float);
}

}  // namespace reveza::phi
