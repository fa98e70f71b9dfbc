#include "phi/run/runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "common/base/mutex.h"
#include "common/platform/output_file.h"
#include "phi/arithmetic/parallel_for.h"
#include "phi/output/appended_file.h"
#include "phi/output/rows.h"
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
      : settings_(settings),
        engine_(engine),
        threads_(threads),
        events_(events),
        measures_(MeasureNames(settings).size()),
        runs_(static_cast<std::size_t>(settings.engine.runs)) {
    checkpoint_.version = version;
    checkpoint_.engine = engine.name();
    checkpoint_.started = TimeText();
    checkpoint_.summary.resize(measures_);
    for (std::size_t i = 0; i < runs_; ++i) run_measures_.emplace_back(settings);
  }

  Result<RunOutcome> Execute() {
    RETURN_IF_ERROR(Open());
    RunOutcome outcome;
    outcome.begun = cycle_;
    for (const CycleMeans& each : checkpoint_.since) NotifyCommitted(each);
    checkpoint_.since.clear();
    committed_cycle_ = cycle_;
    std::uint64_t batch = 1;
    while (cycle_ < settings_.cycles) {
      if (events_.stop && events_.stop()) break;
      const std::uint64_t next =
          (cycle_ / settings_.checkpoint_every + 1) * settings_.checkpoint_every;
      const std::uint64_t now = std::min({batch, settings_.cycles - cycle_, next - cycle_});
      const auto before = Clock::now();
      RETURN_IF_ERROR(AdvanceBatch(static_cast<int>(now)));
      const double share = kBatchSeconds / std::max(SecondsSince(before), 1e-6);
      const std::uint64_t max = std::max<std::uint64_t>(1, kMaxBatchRows / runs_);
      batch = std::clamp<std::uint64_t>(
          static_cast<std::uint64_t>(static_cast<double>(now) * std::min(share, 4.0)), 1, max);
      if (cycle_ == next || cycle_ == settings_.cycles) {
        RETURN_IF_ERROR(Commit());
      }
      if (events_.progress) {
        events_.progress({cycle_, outcome.begun, settings_.cycles, SecondsSince(begin_)});
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
    checkpoint_.samples.resize(runs_);
    return SaveCheckpoint(settings_, checkpoint_);
  }

  Status Resume(Checkpoint found) {
    const std::string version = std::move(checkpoint_.version);
    const std::string engine = std::move(checkpoint_.engine);
    checkpoint_ = std::move(found);
    checkpoint_.version = version;
    checkpoint_.engine = engine;
    cycle_ = checkpoint_.state.cycle;
    if (cycle_ > settings_.cycles) {
      return Fail(Error::Code::kIncompatible,
                  "{} is already at cycle {}, and --cycles is {}; use more cycles, another "
                  "--output, or --fresh to start over",
                  CheckpointPath(settings_.folder).string(), cycle_, settings_.cycles);
    }
    if (checkpoint_.samples.size() != runs_ || checkpoint_.summary.size() != measures_) {
      return Fail(Error::Code::kIncompatible,
                  "the checkpoint {} is damaged (it has {} runs); start over with --fresh",
                  CheckpointPath(settings_.folder).string(), checkpoint_.samples.size());
    }
    if (cycle_ == 0) return {};
    RETURN_IF_ERROR(engine_.SetState(checkpoint_.state));
    for (std::size_t run = 0; run < runs_; ++run) {
      RETURN_IF_ERROR(run_measures_[run].Restore(cycle_, checkpoint_.samples[run]));
    }
    return {};
  }

  Status OpenFiles() {
    if (settings_.folder == "-") {
      rows_ = RowsOnStandardOutput(settings_.format, LayoutOf(settings_));
    } else if (settings_.Keeps()) {
      ASSIGN_OR_RETURN(rows_, OpenRows(settings_.folder, settings_.format, LayoutOf(settings_),
                                       checkpoint_.rows));
    }
    if (settings_.legacy_json) {
      ASSIGN_OR_RETURN(records_,
                       AppendedFile::Open(LegacyRecordsPath(settings_), checkpoint_.legacy_bytes));
    }
    return {};
  }

  Status AdvanceBatch(int cycles) {
    observations_.resize(static_cast<std::size_t>(cycles) * runs_);
    values_.resize(observations_.size() * measures_);
    RETURN_IF_ERROR(engine_.Advance(cycles, observations_));
    TakeMeasures(cycles);
    RETURN_IF_ERROR(Write());
    for (int i = 0; i < cycles; ++i) AddMeans(i);
    cycle_ += static_cast<std::uint64_t>(cycles);
    return {};
  }

  // Measures all runs; idle threads take the next run, and each run is measured cycle by cycle.
  void TakeMeasures(int cycles) {
    if (measures_ == 0) return;
    Mutex mutex;
    std::optional<Unmeasured> first;
    const auto measure = [&](std::size_t run) {
      auto found = MeasureRun(run, cycles);
      if (!found) return;
      const MutexLock lock(mutex);
      if (!first || found->IsBefore(*first)) first = std::move(found);
    };
    ParallelFor(threads_, runs_, [&] { return measure; });
    if (!checkpoint_.unmeasured) checkpoint_.unmeasured = std::move(first);
  }

  // Returns the first window that could not be measured; its cells stay empty.
  std::optional<Unmeasured> MeasureRun(std::size_t run, int cycles) {
    std::optional<Unmeasured> first;
    for (int i = 0; i < cycles; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * runs_ + run;
      const std::uint64_t cycle = cycle_ + static_cast<std::uint64_t>(i) + 1;
      auto added = run_measures_[run].Add(cycle, observations_[at],
                                          std::span(values_).subspan(at * measures_, measures_));
      if (added || first) continue;
      // Drop the advice after the reason; it applies to `phi measure`.
      const std::string& why = added.error().message;
      first = Unmeasured{.cycle = cycle,
                         .run = settings_.engine.first_run + static_cast<std::uint32_t>(run),
                         .why = why.substr(0, why.find(';'))};
    }
    return first;
  }

  Status Write() {
    const std::string time = records_ ? TimeText() : "";
    block_.Clear();
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      const Observation& each = observations_[i];
      const std::uint64_t cycle = cycle_ + i / runs_ + 1;
      block_.run.push_back(settings_.engine.first_run + static_cast<std::uint32_t>(i % runs_));
      block_.cycle.push_back(cycle);
      block_.hash.push_back(each.hash);
      block_.states.insert(block_.states.end(), std::begin(each.mean), std::end(each.mean));
      block_.states.insert(block_.states.end(), std::begin(each.rho_norm), std::end(each.rho_norm));
      if (records_ && i % runs_ == 0) {
        const std::string record =
            LegacyRecordText(settings_, cycle, each, values_[i * measures_], time);
        RETURN_IF_ERROR(records_->Append(record));
      }
    }
    block_.measures = values_;
    return rows_ ? rows_->Append(block_) : Status();
  }

  void AddMeans(int i) {
    CycleMeans means{.cycle = cycle_ + static_cast<std::uint64_t>(i) + 1, .values = {}};
    for (std::size_t k = 0; k < measures_; ++k) {
      MeasureSummary here;
      for (std::size_t run = 0; run < runs_; ++run) {
        const std::size_t at = (static_cast<std::size_t>(i) * runs_ + run) * measures_ + k;
        here.Add(means.cycle, values_[at]);
        checkpoint_.summary[k].Add(means.cycle, values_[at]);
        const bool due = RunMeasures::IsDue(settings_, k, means.cycle);
        if (due && std::isnan(values_[at])) ++checkpoint_.summary[k].unmeasured;
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
    if (committed_cycle_ == cycle_) return {};
    if (rows_) {
      ASSIGN_OR_RETURN(checkpoint_.rows, rows_->Sync());
    }
    if (settings_.Keeps()) {
      RETURN_IF_ERROR(Save());
    }
    committed_cycle_ = cycle_;
    for (const CycleMeans& each : checkpoint_.since) NotifyCommitted(each);
    checkpoint_.since.clear();
    return {};
  }

  Status Save() {
    if (records_) {
      ASSIGN_OR_RETURN(checkpoint_.legacy_bytes, records_->Sync());
    }
    RETURN_IF_ERROR(engine_.CopyState(checkpoint_.state));
    checkpoint_.samples.clear();
    for (const RunMeasures& track : run_measures_) checkpoint_.samples.push_back(track.Samples());
    const double before = checkpoint_.seconds;
    checkpoint_.seconds += SecondsSince(begin_);
    auto saved = SaveCheckpoint(settings_, checkpoint_);
    checkpoint_.seconds = before;
    return saved;
  }

  Result<RunOutcome> Outcome(RunOutcome outcome) {
    outcome.finished = cycle_ == settings_.cycles;
    outcome.cycle = cycle_;
    outcome.started = checkpoint_.started;
    outcome.seconds = checkpoint_.seconds + SecondsSince(begin_);
    outcome.engine = engine_.name();
    outcome.measures = checkpoint_.summary;
    outcome.unmeasured = checkpoint_.unmeasured;
    if (settings_.legacy) {
      outcome.legacy_null =
          LegacyCombinedNullOf(kModules, settings_.engine.constants.dimension, kNullReplicates);
    }
    BatchState state;
    RETURN_IF_ERROR(engine_.CopyState(state));
    for (int run = 0; run < settings_.engine.runs; ++run) {
      outcome.hashes.push_back(HashOfRun(state, settings_.engine, run));
    }
    if (!settings_.Keeps()) return outcome;
    if (outcome.finished && settings_.legacy_json) {
      RETURN_IF_ERROR(WriteLegacyJson(settings_, outcome.started, TimeText()));
    }
    ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(SummaryPath(settings_)));
    RETURN_IF_ERROR(file.Append(SummaryText(settings_, checkpoint_.version, outcome)));
    RETURN_IF_ERROR(file.Finish());
    return outcome;
  }

  const RunSettings& settings_;
  CycleEngine& engine_;
  int threads_;
  const RunEvents& events_;
  std::size_t measures_;
  std::size_t runs_;
  Clock::time_point begin_ = Clock::now();
  UniqueFd lock_;
  Checkpoint checkpoint_;
  std::uint64_t cycle_ = 0;
  std::uint64_t committed_cycle_ = 0;
  std::vector<RunMeasures> run_measures_;
  std::unique_ptr<RowWriter> rows_;
  std::optional<AppendedFile> records_;
  std::vector<Observation> observations_;
  std::vector<double> values_;
  RowBlock block_;
};

}  // namespace

Result<RunOutcome> Run(const RunSettings& settings, CycleEngine& engine, std::string_view version,
                       int threads, const RunEvents& events) {
  return Runner(settings, engine, version, threads, events).Execute();
}

}  // namespace reveza::phi
