#include "phi/gpu/gpu_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/units.h"
#include "phi/gpu/driver.h"
#include "phi/gpu/gpu_weights.h"
#include "phi/gpu/kernel_arguments.h"
#include "phi/gpu/launcher.h"

namespace reveza::phi {
namespace {

// What is observed of so many cycles goes to the host at once, also where there is no graph.
constexpr int kChunkWithoutGraph = 16;

// One is filled while the other is taken away.
constexpr std::size_t kPinned = 2;

int ChunkOf(const GpuOptions& options) {
  return options.graph_cycles > 0 ? options.graph_cycles : kChunkWithoutGraph;
}

// The arrays of one number a run and element that the kernels hand on, in numbers a run.
struct WorkSizes {
  explicit WorkSizes(int dimension) : padded(PaddedOf(dimension)) {}
  std::int64_t padded;
  std::int64_t total() const { return 6 * padded + kGroup + 2 * kHiddenUnits; }
};

std::size_t ObservationBytes(const EngineSettings& settings, const GpuOptions& options) {
  return static_cast<std::size_t>(ChunkOf(options)) * static_cast<std::size_t>(settings.runs) *
         sizeof(Observation);
}

class GpuEngine final : public CycleEngine {
 public:
  GpuEngine(const EngineSettings& settings, const GpuOptions& options)
      : settings_(settings), options_(options), sizes_(settings.constants.dimension) {}

  Status Begin() {
    auto driver = GpuDriver::Open(options_.device, options_.library);
    if (!driver) return std::unexpected(driver.error());
    driver_ = std::move(*driver);
    const auto free = driver_->FreeMemory();
    const Bytes needed = GpuBytes(settings_, options_);
    if (free && *free < needed) {
      return Fail(
          Error::Code::kExhausted,
          fmt::format("{} runs of {} elements need {} of the GPU's memory, and {} are free; "
                      "take fewer runs",
                      settings_.runs, settings_.constants.dimension, FormatBytes(needed),
                      FormatBytes(*free)));
    }
    const CycleWeights weights =
        MakeWeights(settings_.seed, settings_.constants.dimension, InstructionsOfProcessor());
    auto copied = CopyWeights(driver_, weights);
    if (!copied) return std::unexpected(copied.error());
    weights_ = std::move(*copied);
    if (auto done = AllocateAll(); !done) return done;
    auto launcher = GpuLauncher::Make(driver_);
    if (!launcher) return std::unexpected(launcher.error());
    launcher_ = std::move(*launcher);
    if (auto done = SetState(StartState(settings_)); !done) return done;
    if (options_.graph_cycles <= 0) return {};
    return launcher_->Capture([this] { return LaunchCycles(options_.graph_cycles); });
  }

  std::string name() const override { return fmt::format("gpu {}", driver_->gpu()); }

  Status Advance(int cycles, std::span<Observation> observations) override {
    // While one chunk's observations are taken away, the next is computed.
    int turn = 0;
    Taken before;
    for (int done = 0; done < cycles;) {
      const int count = std::min(ChunkOf(options_), cycles - done);
      const bool whole = launcher_->captured() && count == options_.graph_cycles;
      if (auto made = whole ? launcher_->Replay() : LaunchCycles(count); !made) return made;
      const std::size_t first = static_cast<std::size_t>(done) * Runs();
      Taken taken{turn, observations.subspan(first, static_cast<std::size_t>(count) * Runs())};
      if (auto made = launcher_->CopyOut(turn, pinned_[static_cast<std::size_t>(turn)].data(),
                                         observed_.as<const void>(), taken.to.size_bytes());
          !made) {
        return made;
      }
      if (auto made = Take(before); !made) return made;
      before = taken;
      turn ^= 1;
      done += count;
    }
    if (auto made = Take(before); !made) return made;
    cycle_ += static_cast<std::uint64_t>(cycles);
    return {};
  }

  Status CopyState(BatchState& to) const override {
    to.cycle = cycle_;
    to.vectors = AlignedArray<float>(state_.bytes() / sizeof(float));
    to.ring = AlignedArray<float>(settings_.correlation ? ring_.bytes() / sizeof(float) : 0);
    if (auto done = state_.CopyTo(to.vectors.data()); !done) return done;
    return settings_.correlation ? ring_.CopyTo(to.ring.data()) : Status{};
  }

  Status SetState(const BatchState& from) override {
    const std::size_t ring = settings_.correlation ? ring_.bytes() : 0;
    if (from.vectors.size() * sizeof(float) != state_.bytes() ||
        from.ring.size() * sizeof(float) != ring) {
      return Fail(Error::Code::kInvalidArgument, "the state is one of other runs or dimensions");
    }
    if (auto done = state_.CopyFrom(from.vectors.data()); !done) return done;
    if (settings_.correlation) {
      if (auto done = ring_.CopyFrom(from.ring.data()); !done) return done;
    }
    cycle_ = from.cycle;
    if (auto done = count_.CopyFrom(&cycle_); !done) return done;
    // A copy may still be on its way when its call returns, and our stream waits for no other.
    return driver_->WaitForAll();
  }

 private:
  // What a chunk has observed, on its way through pinned memory.
  struct Taken {
    int turn = 0;
    std::span<Observation> to;
  };

  std::size_t Runs() const { return static_cast<std::size_t>(settings_.runs); }

  Status AllocateAll() {
    const auto numbers = [this](std::int64_t each) {
      return Runs() * static_cast<std::size_t>(each) * sizeof(float);
    };
    const std::int64_t ring = settings_.correlation ? kCorrelationWindow * 3 * sizes_.padded : 1;
    const std::array<std::pair<GpuMemory*, std::size_t>, 5> all = {{
        {&state_, numbers(kStateVectors * sizes_.padded)},
        {&ring_, numbers(ring)},
        {&work_, numbers(sizes_.total())},
        {&observed_, ObservationBytes(settings_, options_)},
        {&count_, sizeof(std::uint64_t)},
    }};
    for (const auto& [memory, bytes] : all) {
      auto made = GpuMemory::Allocate(driver_, bytes);
      if (!made) return std::unexpected(made.error());
      *memory = std::move(*made);
    }
    for (PinnedMemory& each : pinned_) {
      auto made = PinnedMemory::Allocate(driver_, ObservationBytes(settings_, options_));
      if (!made) return std::unexpected(made.error());
      each = std::move(*made);
    }
    return {};
  }

  // The arrays of work_, one after the other.
  struct Work {
    float* from_preconscious;
    float* from_conscious;
    float* operated;
    float* chosen;
    float* perceived;
    float* from_unconscious;
    float* hidden;
    float* hidden_again;
  };
  Work Places() const {
    const std::int64_t runs = settings_.runs;
    auto* at = work_.as<float>();
    const auto next = [&at, runs](std::int64_t each) {
      return std::exchange(at, at + runs * each);
    };
    return {.from_preconscious = next(sizes_.padded),
            .from_conscious = next(sizes_.padded),
            .operated = next(sizes_.padded),
            .chosen = next(sizes_.padded),
            .perceived = next(sizes_.padded),
            .from_unconscious = next(sizes_.padded + kGroup),
            .hidden = next(kHiddenUnits),
            .hidden_again = next(kHiddenUnits)};
  }

  GpuPass PassAt(const Work& work, int step) const {
    return {.constants = settings_.constants,
            .key = KeyOf(settings_.seed),
            .first_run = settings_.first_run,
            .runs = settings_.runs,
            .correlation = settings_.correlation ? 1 : 0,
            .cycle = count_.as<const std::uint64_t>(),
            .step = step,
            .state = state_.as<float>(),
            .ring = ring_.as<float>(),
            .from_preconscious = work.from_preconscious,
            .from_unconscious = work.from_unconscious,
            .from_conscious = work.from_conscious,
            .operated = work.operated,
            .chosen = work.chosen,
            .perceived = work.perceived,
            .observations = observed_.as<Observation>()};
  }

  Status LaunchCycles(int cycles) {
    const Work work = Places();
    const std::int64_t padded = sizes_.padded;
    const std::int64_t state = kStateVectors * padded;
    const auto vector = [&](int which) { return state_.as<const float>() + which * padded; };
    const std::array recurrent = {
        weights_.preconscious.Product(vector(kRhoPreconscious), state, work.from_preconscious,
                                      padded),
        weights_.unconscious.Product(vector(kRhoUnconscious), state, work.from_unconscious,
                                     padded + kGroup),
        weights_.conscious.Product(vector(kRhoConscious), state, work.from_conscious, padded)};
    const GpuProduct operated = weights_.basis.Product(work.from_unconscious + padded,
                                                       padded + kGroup, work.operated, padded);
    const std::array layers = {
        weights_.perceptron[0].Product(work.chosen, padded, work.hidden, kHiddenUnits, true),
        weights_.perceptron[1].Product(work.hidden, kHiddenUnits, work.hidden_again, kHiddenUnits,
                                       true),
        weights_.perceptron[2].Product(work.hidden_again, kHiddenUnits, work.perceived, padded)};
    for (int step = 0; step < cycles; ++step) {
      const GpuPass pass = PassAt(work, step);
      if (auto done = launcher_->Products(recurrent, settings_.runs); !done) return done;
      if (auto done = launcher_->Products({&operated, 1}, settings_.runs); !done) return done;
      if (auto done = launcher_->FirstPass(pass); !done) return done;
      for (const GpuProduct& layer : layers) {
        if (auto done = launcher_->Products({&layer, 1}, settings_.runs); !done) return done;
      }
      if (auto done = launcher_->LastPass(pass); !done) return done;
    }
    return launcher_->Count(count_.as<std::uint64_t>(), cycles);
  }

  Status Take(const Taken& taken) {
    if (taken.to.empty()) return {};
    if (auto done = launcher_->WaitForCopy(taken.turn); !done) return done;
    std::memcpy(taken.to.data(), pinned_[static_cast<std::size_t>(taken.turn)].data(),
                taken.to.size_bytes());
    return {};
  }

  EngineSettings settings_;
  GpuOptions options_;
  WorkSizes sizes_;
  GpuDriverPointer driver_;
  GpuWeights weights_;
  GpuMemory state_;
  GpuMemory ring_;
  GpuMemory work_;
  GpuMemory observed_;
  GpuMemory count_;  // cycles done
  std::array<PinnedMemory, kPinned> pinned_;
  std::unique_ptr<GpuLauncher> launcher_;
  std::uint64_t cycle_ = 0;
};

}  // namespace

Bytes GpuBytes(const EngineSettings& settings, const GpuOptions& options) {
  const auto work = static_cast<Bytes>(WorkSizes(settings.constants.dimension).total());
  return StateBytes(settings) + static_cast<Bytes>(settings.runs) * work * sizeof(float) +
         ObservationBytes(settings, options) + GpuWeightBytes(settings.constants.dimension);
}

Bytes GpuHostBytes(const EngineSettings& settings, const GpuOptions& options) {
  return kPinned * ObservationBytes(settings, options) +
         2 * GpuWeightBytes(settings.constants.dimension);
}

Result<std::unique_ptr<CycleEngine>> MakeGpuEngine(const EngineSettings& settings,
                                                   const GpuOptions& options) {
  if (auto checked = CheckSettings(settings); !checked) return std::unexpected(checked.error());
  if (GpuPassBytes(settings.constants.dimension) > kMostGpuPassBytes) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("a module of {} elements does not fit a block of the GPU; take at most "
                            "{}, or --device cpu",
                            settings.constants.dimension, kMostGpuPassBytes / 8));
  }
  constexpr int kMostRuns = kMostGpuTilesOfRuns * kGpuSmallTile;
  if (settings.runs > kMostRuns) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("{} runs are more than one GPU takes at a time; take at most {}, and "
                            "--first-run for the others",
                            settings.runs, kMostRuns));
  }
  auto engine = std::make_unique<GpuEngine>(settings, options);
  if (auto begun = engine->Begin(); !begun) return std::unexpected(begun.error());
  return engine;
}

}  // namespace reveza::phi
