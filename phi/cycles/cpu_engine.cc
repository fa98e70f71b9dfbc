#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "common/base/run_in_parallel.h"
#include "phi/arithmetic/kernels.h"
#include "phi/arithmetic/matrix_product.h"
#include "phi/arithmetic/stage_barrier.h"
#include "phi/cycles/engine.h"
#include "phi/cycles/passes.h"
#include "phi/cycles/weights.h"

namespace reveza::phi {
namespace {

// Runs per group, chosen so that their state and workspace stay in cache while weights stream by.
constexpr int kGroupRuns = 48;
// With fewer runs per thread, threads share the outputs of one group instead.
constexpr int kMinRunsPerThread = 8;

struct Slice {
  int first;
  int last;
};

// One thread of a team that processes stages in lockstep: each does its share, then waits for the
// others.
class TeamMember {
 public:
  TeamMember(StageBarrier& barrier, int number, int members)
      : barrier_(barrier), number_(number), members_(members) {}

  // Returns this member's share of `count` items.
  Slice Share(int count) const {
    return {static_cast<int>(std::int64_t{count} * number_ / members_),
            static_cast<int>(std::int64_t{count} * (number_ + 1) / members_)};
  }
  int number() const { return number_; }
  void Wait() const {
    if (members_ > 1) barrier_.Wait(members_);
  }

 private:
  StageBarrier& barrier_;
  int number_;
  int members_;
};

struct WorkSplit {
  int groups;
  int members;  // threads per group
};

WorkSplit SplitWork(int runs, int threads) {
  if (threads == 1 || runs >= threads * kMinRunsPerThread) {
    const int groups = (runs + kGroupRuns - 1) / kGroupRuns;
    return {(groups + threads - 1) / threads * threads, 1};
  }
  return {1, threads};
}

// Intermediate vectors of the runs of one group, one row per run.
class Workspace {
 public:
  Workspace(int runs, int dimension, int members)
      : padded_(PaddedOf(dimension)),
        scratch_(static_cast<std::size_t>(members) * static_cast<std::size_t>(padded_)),
        wide_(static_cast<std::size_t>(runs) * kWide * static_cast<std::size_t>(padded_)),
        narrow_(static_cast<std::size_t>(runs) * kNarrow * kHiddenUnits) {}

  // The input and the output of the perceptron take the place of products that are not needed any
  // more.
  enum Wide {
    kFromPreconscious,
    kFromUnconscious,
    kFromConscious,
    kOperated,
    kWide,
    kChosen = kFromPreconscious,
    kPerceived = kFromUnconscious
  };
  enum Narrow { kCoordinates, kHidden, kHiddenAgain, kNarrow };

  OutputVectors Of(Wide which) {
    return {wide_.data() + static_cast<std::ptrdiff_t>(which) * padded_,
            static_cast<std::ptrdiff_t>(kWide) * padded_};
  }
  OutputVectors Of(Narrow which) {
    return {narrow_.data() + static_cast<std::ptrdiff_t>(which) * kHiddenUnits,
            static_cast<std::ptrdiff_t>(kNarrow) * kHiddenUnits};
  }
  // Returns space for one vector, which one thread of the team uses for any run.
  float* Scratch(int member) {
    return scratch_.data() + static_cast<std::ptrdiff_t>(member) * padded_;
  }
  static std::size_t BytesOf(int runs, int dimension, int members) {
    const auto padded = static_cast<std::size_t>(PaddedOf(dimension));
    return sizeof(float) *
           (static_cast<std::size_t>(runs) * (static_cast<std::size_t>(kWide) * padded +
                                              static_cast<std::size_t>(kNarrow) * kHiddenUnits) +
            static_cast<std::size_t>(members) * padded);
  }

 private:
  int padded_;
  AlignedArray<float> scratch_;
  AlignedArray<float> wide_;
  AlignedArray<float> narrow_;
};

Vectors Read(const OutputVectors& vectors) { return {vectors.first, vectors.stride}; }
float* Row(const OutputVectors& vectors, int run) { return vectors.first + run * vectors.stride; }

class CpuEngine final : public CycleEngine {
 public:
  CpuEngine(const EngineSettings& settings, const CpuOptions& options)
      : settings_(settings),
        options_(options),
        passes_(PassesOf(options.instructions)),
        product_(KernelsOf(options.instructions).product),
        weights_(MakeWeights(settings.seed, settings.constants.dimension, options.instructions)),
        split_(SplitWork(settings.runs, options.threads)),
        padded_(PaddedOf(settings.constants.dimension)),
        state_(InitialState(settings)) {
    const int places = split_.members > 1 ? 1 : std::min(options.threads, split_.groups);
    const int max = (settings.runs + split_.groups - 1) / split_.groups;
    for (int i = 0; i < places; ++i) {
      workspaces_.emplace_back(max, settings.constants.dimension, split_.members);
    }
  }

  std::string name() const override { return fmt::format("cpu {}", NameOf(options_.instructions)); }

  Status Advance(int cycles, std::span<Observation> observations) override {
    const bool is_team = split_.members > 1;
    const int wanted = is_team ? split_.members : static_cast<int>(workspaces_.size());
    StageBarrier barrier;
    RunInParallel(wanted, [&](int thread, int threads) {
      if (is_team) {
        AdvanceGroup(0, cycles, observations, workspaces_[0], TeamMember(barrier, thread, threads));
        return;
      }
      for (int group = thread; group < split_.groups; group += threads) {
        AdvanceGroup(group, cycles, observations, workspaces_[thread], TeamMember(barrier, 0, 1));
      }
    });
    state_.cycle += static_cast<std::uint64_t>(cycles);
    return {};
  }

  Status CopyState(BatchState& to) const override {
    to.cycle = state_.cycle;
    to.vectors = AlignedArray<float>(state_.vectors.size());
    to.ring = AlignedArray<float>(state_.ring.size());
    std::ranges::copy(state_.vectors.all(), to.vectors.data());
    std::ranges::copy(state_.ring.all(), to.ring.data());
    return {};
  }

  Status SetState(const BatchState& from) override {
    if (from.vectors.size() != state_.vectors.size() || from.ring.size() != state_.ring.size()) {
      return InvalidArgument("the state has a different number of runs or dimension");
    }
    state_.cycle = from.cycle;
    std::ranges::copy(from.vectors.all(), state_.vectors.data());
    std::ranges::copy(from.ring.all(), state_.ring.data());
    return {};
  }

 private:
  // One group in one cycle.
  struct Stage {
    int first;  // first run of the group
    int count;
    std::uint64_t cycle;
    Workspace& place;
    const TeamMember& member;
  };

  void AdvanceGroup(int group, int cycles, std::span<Observation> observations, Workspace& place,
                    const TeamMember& member) {
    const auto runs = std::int64_t{settings_.runs};
    const auto first = static_cast<int>(runs * group / split_.groups);
    const auto last = static_cast<int>(runs * (group + 1) / split_.groups);
    for (int i = 0; i < cycles; ++i) {
      const Stage stage{.first = first,
                        .count = last - first,
                        .cycle = state_.cycle + static_cast<std::uint64_t>(i) + 1,
                        .place = place,
                        .member = member};
      Recurrent(stage);
      Perceive(stage);
      const auto row = static_cast<std::size_t>(i) * static_cast<std::size_t>(settings_.runs);
      Finish(stage, observations.subspan(row));
    }
  }

  float* State(int run, int vector) {
    return state_.vectors.data() +
           (static_cast<std::ptrdiff_t>(run) * kStateVectors + vector) * padded_;
  }
  // Returns one state vector of every run of the group.
  Vectors States(const Stage& stage, int vector) {
    return {State(stage.first, vector), static_cast<std::ptrdiff_t>(kStateVectors) * padded_};
  }
  RunPass PassOf(const Stage& stage, int run) {
    return {.constants = &settings_.constants,
            .at = {.key = KeyOf(settings_.seed),
                   .run = settings_.first_run + static_cast<std::uint32_t>(stage.first + run),
                   .cycle = static_cast<std::uint32_t>(stage.cycle),
                   .site = 0},
            .state = State(stage.first + run, 0),
            .work = stage.place.Scratch(stage.member.number())};
  }

  struct Job {
    const PackedMatrix* matrix;
    Vectors x;
    OutputVectors y;
  };
  // Computes this member's share of the panels of all products.
  void MultiplyShare(const Stage& stage, std::span<const Job> jobs) {
    int panels = 0;
    for (const Job& job : jobs) panels += job.matrix->panels();
    const Slice part = stage.member.Share(panels);
    int before = 0;
    for (const Job& job : jobs) {
      const int first = std::max(part.first - before, 0);
      const int last = std::min(part.last - before, job.matrix->panels());
      const float* const next = &job == &jobs.back() ? nullptr : (&job)[1].matrix->Panel(0);
      if (first < last) {
        Multiply(*job.matrix, job.x, stage.count, job.y, product_, first, last, next);
      }
      before += job.matrix->panels();
    }
  }

  void Recurrent(const Stage& stage) {
    Workspace& place = stage.place;
    const Slice runs = stage.member.Share(stage.count);
    const Vectors conscious = States(stage, kRhoConscious);
    const Vectors preconscious = States(stage, kRhoPreconscious);
    const Vectors unconscious = States(stage, kRhoUnconscious);
    const OutputVectors coordinates = place.Of(Workspace::kCoordinates);
    const Job products[] = {
        {&weights_.basis_transposed, unconscious, coordinates},
        {&weights_.preconscious_to_conscious, preconscious, place.Of(Workspace::kFromPreconscious)},
        {&weights_.unconscious_to_conscious, unconscious, place.Of(Workspace::kFromUnconscious)},
        {&weights_.conscious_to_unconscious, conscious, place.Of(Workspace::kFromConscious)}};
    MultiplyShare(stage, products);
    stage.member.Wait();
    for (int run = runs.first; run < runs.last; ++run) {
      passes_.scale(Row(coordinates, run), weights_.strengths.data(),
                    PaddedOutputs(weights_.basis_transposed.outputs()));
    }
    stage.member.Wait();
    const Job operated[] = {{&weights_.basis, Read(coordinates), place.Of(Workspace::kOperated)}};
    MultiplyShare(stage, operated);
    stage.member.Wait();
    for (int run = runs.first; run < runs.last; ++run) {
      passes_.first(PassOf(stage, run),
                    {.from_preconscious = Row(place.Of(Workspace::kFromPreconscious), run),
                     .from_unconscious = Row(place.Of(Workspace::kFromUnconscious), run),
                     .from_conscious = Row(place.Of(Workspace::kFromConscious), run),
                     .operated = Row(place.Of(Workspace::kOperated), run)},
                    Row(place.Of(Workspace::kChosen), run));
    }
    stage.member.Wait();
  }

  void Perceive(const Stage& stage) {
    Workspace& place = stage.place;
    const OutputVectors between[] = {place.Of(Workspace::kChosen), place.Of(Workspace::kHidden),
                                     place.Of(Workspace::kHiddenAgain),
                                     place.Of(Workspace::kPerceived)};
    const Slice runs = stage.member.Share(stage.count);
    for (std::size_t i = 0; i < weights_.perceptron.size(); ++i) {
      const Layer& layer = weights_.perceptron[i];
      const Job job[] = {{&layer.weights, Read(between[i]), between[i + 1]}};
      MultiplyShare(stage, job);
      stage.member.Wait();
      const bool inner = i + 1 < weights_.perceptron.size();
      for (int run = runs.first; run < runs.last; ++run) {
        passes_.offset(Row(between[i + 1], run), layer.offsets.data(),
                       PaddedOutputs(layer.weights.outputs()), inner);
      }
      if (inner) stage.member.Wait();
    }
  }

  void Finish(const Stage& stage, std::span<Observation> observations) {
    const Slice runs = stage.member.Share(stage.count);
    for (int run = runs.first; run < runs.last; ++run) {
      const auto at = static_cast<std::size_t>(stage.first) + static_cast<std::size_t>(run);
      Observation& observation = observations[at];
      observation = {};
      passes_.last(PassOf(stage, run), Row(stage.place.Of(Workspace::kPerceived), run),
                   observation);
      if (settings_.correlation) Correlate(stage, run, observation);
    }
    stage.member.Wait();
  }

  void Correlate(const Stage& stage, int run, Observation& observation) {
    const std::ptrdiff_t triple = std::ptrdiff_t{3} * padded_;
    float* ring = state_.ring.data() + (stage.first + run) * kCorrelationWindow * triple;
    const auto slot = static_cast<std::ptrdiff_t>((stage.cycle - 1) % kCorrelationWindow);
    std::memcpy(ring + slot * triple, State(stage.first + run, kRhoConscious),
                sizeof(float) * static_cast<std::size_t>(triple));
    const auto filled = static_cast<int>(std::min<std::uint64_t>(stage.cycle, kCorrelationWindow));
    if (filled >= kMinCorrelated) {
      observation.rho_correlation = passes_.correlation(settings_.constants, ring, filled);
    }
  }

  EngineSettings settings_;
  CpuOptions options_;
  const CyclePasses& passes_;
  PanelProduct product_;
  CycleWeights weights_;
  WorkSplit split_;
  std::ptrdiff_t padded_;
  BatchState state_;
  std::vector<Workspace> workspaces_;
};

}  // namespace

const CyclePasses& PassesOf(Instructions instructions) {
#ifdef __x86_64__
  if (instructions == Instructions::kAvx512) return kAvx512Passes;
  if (instructions == Instructions::kAvx2) return kAvx2Passes;
#endif
  static_cast<void>(instructions);
  return kPlainPasses;
}

Bytes CpuWorkBytes(const EngineSettings& settings, int threads) {
  const auto side = static_cast<std::size_t>(PaddedOf(settings.constants.dimension));
  const std::size_t weights = 3 * side * side + 2 * side * (kMaxRank + kHiddenUnits);
  const WorkSplit split = SplitWork(settings.runs, threads);
  const int places = split.members > 1 ? 1 : std::min(threads, split.groups);
  const int max = (settings.runs + split.groups - 1) / split.groups;
  // Weights count twice: unpacked while they are generated, and packed.
  return 2 * weights * sizeof(float) +
         static_cast<std::size_t>(places) *
             Workspace::BytesOf(max, settings.constants.dimension, split.members);
}

Result<std::unique_ptr<CycleEngine>> MakeCpuEngine(const EngineSettings& settings,
                                                   const CpuOptions& options) {
  RETURN_IF_ERROR(CheckSettings(settings));
  if (options.instructions > SupportedInstructions()) {
    return Fail(Error::Code::kUnavailable, "this processor does not support {}; use {}",
                NameOf(options.instructions), NameOf(SupportedInstructions()));
  }
  if (options.threads < 1) {
    return InvalidArgument("{} threads requested; at least 1 is required", options.threads);
  }
  return std::make_unique<CpuEngine>(settings, options);
}

}  // namespace reveza::phi
