#include "phi/cycles/cpu_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/together.h"
#include "phi/arithmetic/matrix_product.h"
#include "phi/cycles/passes.h"
#include "phi/cycles/team.h"
#include "phi/cycles/weights.h"

namespace reveza::phi {
namespace {

// So many runs, and what they work in, are near the processor while the weights pass by.
constexpr int kGroupRuns = 64;
// With fewer runs for each thread, threads share the outputs instead.
constexpr int kLeastRunsOfThread = 8;

struct Division {
  int groups;
  int members;  // threads of each group
};

Division Divide(int runs, int threads) {
  if (threads == 1 || runs >= threads * kLeastRunsOfThread) {
    const int groups = (runs + kGroupRuns - 1) / kGroupRuns;
    return {(groups + threads - 1) / threads * threads, 1};
  }
  return {1, threads};
}

// What the runs of one group work in, one row a run.
class Workplace {
 public:
  Workplace(int runs, int dimension)
      : padded_(PaddedOf(dimension)),
        wide_(static_cast<std::size_t>(runs) * kWide * static_cast<std::size_t>(padded_)),
        narrow_(static_cast<std::size_t>(runs) * kNarrow * kHiddenUnits) {}

  enum Wide {
    kStimulus,
    kFromPreconscious,
    kFromUnconscious,
    kFromConscious,
    kOperated,
    kChosen,
    kPerceived,
    kScratch,
    kWide
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
  static std::size_t BytesOf(int runs, int dimension) {
    return static_cast<std::size_t>(runs) * sizeof(float) *
           (static_cast<std::size_t>(kWide) * static_cast<std::size_t>(PaddedOf(dimension)) +
            static_cast<std::size_t>(kNarrow) * kHiddenUnits);
  }

 private:
  int padded_;
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
        product_(PanelProductOf(options.instructions)),
        weights_(MakeWeights(settings.seed, settings.constants.dimension, options.instructions)),
        division_(Divide(settings.runs, options.threads)),
        padded_(PaddedOf(settings.constants.dimension)),
        state_(StartState(settings)) {
    const int places = division_.members > 1 ? 1 : std::min(options.threads, division_.groups);
    const int most = (settings.runs + division_.groups - 1) / division_.groups;
    for (int i = 0; i < places; ++i) workplaces_.emplace_back(most, settings.constants.dimension);
  }

  std::string name() const override { return fmt::format("cpu {}", NameOf(options_.instructions)); }

  Status Advance(int cycles, std::span<Observation> observations) override {
    const bool is_team = division_.members > 1;
    const int wanted = is_team ? division_.members : static_cast<int>(workplaces_.size());
    StageBarrier barrier;
    Together(wanted, [&](int thread, int threads) {
      if (is_team) {
        AdvanceGroup(0, cycles, observations, workplaces_[0], TeamMember(barrier, thread, threads));
        return;
      }
      for (int group = thread; group < division_.groups; group += threads) {
        AdvanceGroup(group, cycles, observations, workplaces_[static_cast<std::size_t>(thread)],
                     TeamMember(barrier, 0, 1));
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
      return Fail(Error::Code::kInvalidArgument, "the state is one of other runs or dimensions");
    }
    state_.cycle = from.cycle;
    std::ranges::copy(from.vectors.all(), state_.vectors.data());
    std::ranges::copy(from.ring.all(), state_.ring.data());
    return {};
  }

 private:
  // A group at one cycle.
  struct Stage {
    int first;  // run
    int count;
    std::uint64_t cycle;
    Workplace& place;
    const TeamMember& member;
  };

  void AdvanceGroup(int group, int cycles, std::span<Observation> observations, Workplace& place,
                    const TeamMember& member) {
    const auto runs = std::int64_t{settings_.runs};
    const auto first = static_cast<int>(runs * group / division_.groups);
    const auto last = static_cast<int>(runs * (group + 1) / division_.groups);
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
  // One vector of the state of each run of the group.
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
            .work = Row(stage.place.Of(Workplace::kScratch), run)};
  }

  struct Job {
    const PackedMatrix* matrix;
    Vectors x;
    OutputVectors y;
  };
  // The panels of all products are one list of pieces.
  void MultiplyShare(const Stage& stage, std::span<const Job> jobs) {
    int panels = 0;
    for (const Job& job : jobs) panels += job.matrix->panels();
    const Part part = stage.member.Share(panels);
    int before = 0;
    for (const Job& job : jobs) {
      const int first = std::max(part.first - before, 0);
      const int last = std::min(part.last - before, job.matrix->panels());
      if (first < last) Multiply(*job.matrix, job.x, stage.count, job.y, product_, first, last);
      before += job.matrix->panels();
    }
  }

  void Recurrent(const Stage& stage) {
    Workplace& place = stage.place;
    const Part runs = stage.member.Share(stage.count);
    for (int run = runs.first; run < runs.last; ++run) {
      passes_.stimulus(PassOf(stage, run), Row(place.Of(Workplace::kStimulus), run));
    }
    const Vectors conscious = States(stage, kRhoConscious);
    const Vectors preconscious = States(stage, kRhoPreconscious);
    const Vectors unconscious = States(stage, kRhoUnconscious);
    const OutputVectors coordinates = place.Of(Workplace::kCoordinates);
    const Job products[] = {
        {&weights_.basis_transposed, unconscious, coordinates},
        {&weights_.preconscious_to_conscious, preconscious, place.Of(Workplace::kFromPreconscious)},
        {&weights_.unconscious_to_conscious, unconscious, place.Of(Workplace::kFromUnconscious)},
        {&weights_.conscious_to_unconscious, conscious, place.Of(Workplace::kFromConscious)}};
    MultiplyShare(stage, products);
    stage.member.Wait();
    for (int run = runs.first; run < runs.last; ++run) {
      passes_.scale(Row(coordinates, run), weights_.strengths.data(),
                    PaddedOutputs(weights_.basis_transposed.outputs()));
    }
    stage.member.Wait();
    const Job operated[] = {{&weights_.basis, Read(coordinates), place.Of(Workplace::kOperated)}};
    MultiplyShare(stage, operated);
    stage.member.Wait();
    for (int run = runs.first; run < runs.last; ++run) {
      passes_.first(PassOf(stage, run),
                    {.stimulus = Row(place.Of(Workplace::kStimulus), run),
                     .from_preconscious = Row(place.Of(Workplace::kFromPreconscious), run),
                     .from_unconscious = Row(place.Of(Workplace::kFromUnconscious), run),
                     .from_conscious = Row(place.Of(Workplace::kFromConscious), run),
                     .operated = Row(place.Of(Workplace::kOperated), run)},
                    Row(place.Of(Workplace::kChosen), run));
    }
    stage.member.Wait();
  }

  void Perceive(const Stage& stage) {
    Workplace& place = stage.place;
    const OutputVectors between[] = {place.Of(Workplace::kChosen), place.Of(Workplace::kHidden),
                                     place.Of(Workplace::kHiddenAgain),
                                     place.Of(Workplace::kPerceived)};
    const Part runs = stage.member.Share(stage.count);
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
    const Part runs = stage.member.Share(stage.count);
    for (int run = runs.first; run < runs.last; ++run) {
      const auto at = static_cast<std::size_t>(stage.first) + static_cast<std::size_t>(run);
      Observation& observation = observations[at];
      observation = {};
      passes_.last(PassOf(stage, run), Row(stage.place.Of(Workplace::kPerceived), run),
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
    if (filled >= kLeastCorrelated) {
      observation.rho_correlation = passes_.correlation(settings_.constants, ring, filled);
    }
  }

  EngineSettings settings_;
  CpuOptions options_;
  const CyclePasses& passes_;
  PanelProduct product_;
  CycleWeights weights_;
  Division division_;
  std::ptrdiff_t padded_;
  BatchState state_;
  std::vector<Workplace> workplaces_;
};

}  // namespace

Bytes CpuWorkBytes(const EngineSettings& settings, int threads) {
  const auto side = static_cast<std::size_t>(PaddedOf(settings.constants.dimension));
  const std::size_t weights = 3 * side * side + 2 * side * (kMostRank + kHiddenUnits);
  const Division division = Divide(settings.runs, threads);
  const int places = division.members > 1 ? 1 : std::min(threads, division.groups);
  const int most = (settings.runs + division.groups - 1) / division.groups;
  // The weights twice: as they are made and as they are read.
  return 2 * weights * sizeof(float) +
         static_cast<std::size_t>(places) * Workplace::BytesOf(most, settings.constants.dimension);
}

Result<std::unique_ptr<CycleEngine>> MakeCpuEngine(const EngineSettings& settings,
                                                   const CpuOptions& options) {
  if (auto checked = CheckSettings(settings); !checked) {
    return std::unexpected(std::move(checked).error());
  }
  if (options.instructions > InstructionsOfProcessor()) {
    return Fail(Error::Code::kUnavailable,
                fmt::format("this processor has no {}; take {}", NameOf(options.instructions),
                            NameOf(InstructionsOfProcessor())));
  }
  if (options.threads < 1) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("{} threads; take at least 1", options.threads));
  }
  return std::make_unique<CpuEngine>(settings, options);
}

}  // namespace reveza::phi
