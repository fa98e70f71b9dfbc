#include "phi/run/runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "common/platform/output_file.h"
#include "phi/output/rows.h"
#include "phi/run/measured_cycles.h"
#include "phi/run/outcome.h"
#include "phi/run/run_measures.h"

namespace reveza::phi {
namespace {

using Clock = std::chrono::steady_clock;

// Target duration of a batch, after which the clock and stop requests are checked.
constexpr double kBatchSeconds = 0.1;
// Replicates of the null distribution of phi_legacy; enough for its second digit, in tens of
// milliseconds.
constexpr int kNullReplicates = 100;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Runner {
 public:
  Runner(const RunSettings& settings, CycleEngine& engine, std::string_view version, int threads,
         const RunEvents& events)
      : settings_(settings), engine_(engine), events_(events), cycles_(settings, engine, threads) {
    checkpoint_.version = version;
    checkpoint_.engine = engine.name();
    checkpoint_.started = TimeText();
    checkpoint_.summary.resize(cycles_.measures());
  }

  Result<RunOutcome> Execute() {
    RETURN_IF_ERROR(Open());
    RunOutcome outcome;
    outcome.begun = cycles_.cycle();
    for (const CycleMeans& each : checkpoint_.since) NotifyCommitted(each);
    checkpoint_.since.clear();
    committed_cycle_ = cycles_.cycle();
    std::uint64_t batch = 1;
    while (cycles_.cycle() < settings_.cycles) {
      if (events_.stop && events_.stop()) break;
      const std::uint64_t next =
          (cycles_.cycle() / settings_.checkpoint_every + 1) * settings_.checkpoint_every;
      const std::uint64_t now =
          std::min({batch, settings_.cycles - cycles_.cycle(), next - cycles_.cycle()});
      const auto before = Clock::now();
      RETURN_IF_ERROR(AdvanceBatch(static_cast<int>(now)));
      const double share = kBatchSeconds / std::max(SecondsSince(before), 1e-6);
      const std::uint64_t max = std::max<std::uint64_t>(1, kMaxBatchRows / cycles_.runs());
      batch = std::clamp<std::uint64_t>(
          static_cast<std::uint64_t>(static_cast<double>(now) * std::min(share, 4.0)), 1, max);
      if (cycles_.cycle() == next || cycles_.cycle() == settings_.cycles) {
        RETURN_IF_ERROR(Commit());
      }
      if (events_.progress) {
        events_.progress({cycles_.cycle(), outcome.begun, settings_.cycles, SecondsSince(begin_)});
      }
    }
    RETURN_IF_ERROR(Commit());
    return Outcome(std::move(outcome));
  }

 private:
  Status Open() {
    if (settings_.Keeps()) {
      ASSIGN_OR_RETURN(lock_, LockFolder(settings_.folder));
      // Temporary files of processes killed while writing.
      platform::RemoveAbandoned(CheckpointPath(settings_.folder));
      platform::RemoveAbandoned(SummaryPath(settings_));
      std::optional<Checkpoint> found;
      if (!settings_.fresh) {
        ASSIGN_OR_RETURN(found, LoadCheckpoint(settings_));
      }
      RETURN_IF_ERROR(found ? Resume(*std::move(found)) : StartFresh());
    }
    return OpenFiles();
  }

  // Writes a checkpoint before the first row, so that rows without one are not this run's.
  Status StartFresh() {
    RETURN_IF_ERROR(PrepareFolder(settings_));
    checkpoint_.samples.resize(cycles_.runs());
    return SaveCheckpoint(settings_, checkpoint_);
  }

  Status Resume(Checkpoint found) {
    const std::string version = std::move(checkpoint_.version);
    const std::string engine = std::move(checkpoint_.engine);
    checkpoint_ = std::move(found);
    checkpoint_.version = version;
    checkpoint_.engine = engine;
    const std::uint64_t cycle = checkpoint_.state.cycle;
    if (cycle > settings_.cycles) {
      return Fail(Error::Code::kIncompatible,
                  "{} is already at cycle {}, and --cycles is {}; use more cycles, another "
                  "--output, or --fresh to start over",
                  CheckpointPath(settings_.folder).string(), cycle, settings_.cycles);
    }
    if (checkpoint_.samples.size() != cycles_.runs() ||
        checkpoint_.summary.size() != cycles_.measures()) {
      return Fail(Error::Code::kIncompatible,
                  "the checkpoint {} is damaged (it has {} runs); start over with --fresh",
                  CheckpointPath(settings_.folder).string(), checkpoint_.samples.size());
    }
    return cycles_.Restore(checkpoint_.state, checkpoint_.samples);
  }

  Status OpenFiles() {
    if (settings_.folder == "-") {
      rows_ = RowsOnStandardOutput(LayoutOf(settings_));
    } else if (settings_.Keeps()) {
      ASSIGN_OR_RETURN(rows_, OpenRows(settings_.folder, settings_.format, LayoutOf(settings_),
                                       checkpoint_.rows));
    }
    return {};
  }

  Status AdvanceBatch(int cycles) {
    const std::uint64_t before = cycles_.cycle();
    RETURN_IF_ERROR(cycles_.Advance(cycles));
    if (!checkpoint_.unmeasured) checkpoint_.unmeasured = cycles_.unmeasured();
    RETURN_IF_ERROR(Write(before));
    for (int i = 0; i < cycles; ++i) AddMeans(before, i);
    return {};
  }

  // Writes the rows of the cycles after `before`.
  Status Write(std::uint64_t before) {
    block_.Clear();
    const auto observations = cycles_.observations();
    const std::size_t runs = cycles_.runs();
    for (std::size_t i = 0; i < observations.size(); ++i) {
      const Observation& each = observations[i];
      block_.run.push_back(settings_.engine.first_run + static_cast<std::uint32_t>(i % runs));
      block_.cycle.push_back(before + i / runs + 1);
      block_.hash.push_back(each.hash);
      AppendStates(each, block_.states);
    }
    block_.measures.assign(cycles_.values().begin(), cycles_.values().end());
    return rows_ ? rows_->Append(block_) : Status();
  }

  // Adds the means of the i-th cycle after `before`.
  void AddMeans(std::uint64_t before, int i) {
    CycleMeans means{.cycle = before + static_cast<std::uint64_t>(i) + 1, .values = {}};
    const auto values = cycles_.values();
    const std::size_t runs = cycles_.runs();
    const std::size_t measures = cycles_.measures();
    for (std::size_t k = 0; k < measures; ++k) {
      MeasureSummary here;
      for (std::size_t run = 0; run < runs; ++run) {
        const double value = values[(static_cast<std::size_t>(i) * runs + run) * measures + k];
        here.Add(means.cycle, value);
        checkpoint_.summary[k].Add(means.cycle, value);
        const bool due = RunMeasures::IsDue(settings_, k, means.cycle);
        if (due && std::isnan(value)) ++checkpoint_.summary[k].unmeasured;
      }
      means.values.push_back(here.count == 0 ? kNotAvailable : here.Mean());
    }
    checkpoint_.since.push_back(std::move(means));
  }

  void NotifyCommitted(const CycleMeans& means) const {
    if (events_.committed) events_.committed(means);
  }

  // Syncs rows before the checkpoint, which must refer only to durable rows.
  Status Commit() {
    if (committed_cycle_ == cycles_.cycle()) return {};
    if (rows_) {
      ASSIGN_OR_RETURN(checkpoint_.rows, rows_->Sync());
    }
    if (settings_.Keeps()) {
      RETURN_IF_ERROR(Save());
    }
    committed_cycle_ = cycles_.cycle();
    for (const CycleMeans& each : checkpoint_.since) NotifyCommitted(each);
    checkpoint_.since.clear();
    return {};
  }

  Status Save() {
    RETURN_IF_ERROR(engine_.CopyState(checkpoint_.state));
    checkpoint_.samples = cycles_.Samples();
    const double before = checkpoint_.seconds;
    checkpoint_.seconds += SecondsSince(begin_);
    auto saved = SaveCheckpoint(settings_, checkpoint_);
    checkpoint_.seconds = before;
    return saved;
  }

  Result<RunOutcome> Outcome(RunOutcome outcome) {
    outcome.finished = cycles_.cycle() == settings_.cycles;
    outcome.cycle = cycles_.cycle();
    outcome.started = checkpoint_.started;
    outcome.seconds = checkpoint_.seconds + SecondsSince(begin_);
    outcome.engine = engine_.name();
    outcome.measures = checkpoint_.summary;
    outcome.unmeasured = checkpoint_.unmeasured;
    if (settings_.legacy) {
      outcome.legacy_null =
          LegacyCombinedNullOf(kModules, settings_.engine.constants.dimension, kNullReplicates);
    }
    if (outcome.finished) outcome.nulls = cycles_.Nulls();
    BatchState state;
    RETURN_IF_ERROR(engine_.CopyState(state));
    for (int run = 0; run < settings_.engine.runs; ++run) {
      outcome.hashes.push_back(HashOfRun(state, settings_.engine, run));
    }
    if (!settings_.Keeps()) return outcome;
    ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(SummaryPath(settings_)));
    RETURN_IF_ERROR(file.Append(SummaryText(settings_, checkpoint_.version, outcome)));
    RETURN_IF_ERROR(file.Finish());
    return outcome;
  }

  const RunSettings& settings_;
  CycleEngine& engine_;
  const RunEvents& events_;
  MeasuredCycles cycles_;
  Clock::time_point begin_ = Clock::now();
  UniqueFd lock_;
  Checkpoint checkpoint_;
  std::uint64_t committed_cycle_ = 0;
  std::unique_ptr<RowWriter> rows_;
  RowBlock block_;
};

}  // namespace

Result<RunOutcome> Run(const RunSettings& settings, CycleEngine& engine, std::string_view version,
                       int threads, const RunEvents& events) {
  return Runner(settings, engine, version, threads, events).Execute();
}

}  // namespace reveza::phi
