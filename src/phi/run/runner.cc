#include "phi/run/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "base/together.h"
#include "phi/output/appended_file.h"
#include "phi/run/folder_contents.h"
#include "phi/run/folder_lock.h"
#include "phi/run/legacy_json.h"
#include "phi/run/measuring.h"
#include "platform/output_file.h"

namespace reveza::phi {
namespace {

using Clock = std::chrono::steady_clock;

// A piece of work between two looks at the clock and at signals.
constexpr double kPieceSeconds = 0.1;
// Of noise, for what phi_legacy is beside: they give its second digit, in some hundredths of a
// second.
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
    kept_.version = version;
    kept_.engine = engine.name();
    kept_.started = TimeText();
    kept_.summary.resize(measures_);
    for (std::size_t i = 0; i < runs_; ++i) tracks_.emplace_back(settings);
  }

  Result<RunOutcome> Work() {
    if (auto opened = Open(); !opened) return std::unexpected(std::move(opened).error());
    RunOutcome outcome;
    outcome.begun = cycle_;
    for (const CycleMeans& each : kept_.since) Tell(each);
    kept_.since.clear();
    settled_ = cycle_;
    std::uint64_t piece = 1;
    while (cycle_ < settings_.cycles) {
      if (events_.stop && events_.stop()) break;
      const std::uint64_t next =
          (cycle_ / settings_.checkpoint_every + 1) * settings_.checkpoint_every;
      const std::uint64_t now = std::min({piece, settings_.cycles - cycle_, next - cycle_});
      const auto before = Clock::now();
      if (auto done = Piece(static_cast<int>(now)); !done) return std::unexpected(done.error());
      const double share = kPieceSeconds / std::max(SecondsSince(before), 1e-6);
      const std::uint64_t most = std::max<std::uint64_t>(1, kMostPieceRows / runs_);
      piece = std::clamp<std::uint64_t>(
          static_cast<std::uint64_t>(static_cast<double>(now) * std::min(share, 4.0)), 1, most);
      if (cycle_ == next || cycle_ == settings_.cycles) {
        if (auto settled = Settle(); !settled) return std::unexpected(settled.error());
      }
      if (events_.progress) {
        events_.progress({cycle_, outcome.begun, settings_.cycles, SecondsSince(begin_)});
      }
    }
    if (auto settled = Settle(); !settled) return std::unexpected(settled.error());
    return Outcome(std::move(outcome));
  }

 private:
  Status Open() {
    if (settings_.Keeps()) {
      auto lock = LockFolder(settings_.folder);
      if (!lock) return std::unexpected(std::move(lock).error());
      lock_ = std::move(*lock);
      // Of programs that were killed while they wrote.
      platform::RemoveAbandoned(CheckpointPath(settings_.folder));
      platform::RemoveAbandoned(SummaryPath(settings_));
      std::optional<Checkpoint> found;
      if (!settings_.fresh) {
        auto loaded = LoadCheckpoint(settings_);
        if (!loaded) return std::unexpected(std::move(loaded).error());
        found = *std::move(loaded);
      }
      if (auto begun = found ? Resume(*std::move(found)) : BeginAnew(); !begun) return begun;
    }
    return OpenFiles();
  }

  // A checkpoint before the first row: rows without one are somebody else's.
  Status BeginAnew() {
    if (auto cleared = ClearFolder(settings_); !cleared) return cleared;
    kept_.glances.resize(runs_);
    return SaveCheckpoint(settings_, kept_);
  }

  Status Resume(Checkpoint found) {
    const std::string version = std::move(kept_.version);
    const std::string engine = std::move(kept_.engine);
    kept_ = std::move(found);
    kept_.version = version;
    kept_.engine = engine;
    cycle_ = kept_.state.cycle;
    if (cycle_ > settings_.cycles) {
      return Fail(Error::Code::kIncompatible,
                  fmt::format("{} is at cycle {} already, and --cycles is {}; give more cycles, "
                              "another --output, or --fresh to begin anew",
                              CheckpointPath(settings_.folder).string(), cycle_, settings_.cycles));
    }
    if (kept_.glances.size() != runs_ || kept_.summary.size() != measures_) {
      return Fail(Error::Code::kIncompatible,
                  fmt::format("the checkpoint {} is damaged (it is of {} runs); begin anew with "
                              "--fresh",
                              CheckpointPath(settings_.folder).string(), kept_.glances.size()));
    }
    if (cycle_ == 0) return {};
    if (auto set = engine_.SetState(kept_.state); !set) return set;
    for (std::size_t run = 0; run < runs_; ++run) {
      if (auto restored = tracks_[run].Restore(cycle_, kept_.glances[run]); !restored) {
        return restored;
      }
    }
    return {};
  }

  Status OpenFiles() {
    if (settings_.folder == "-") {
      rows_ = RowsOnStandardOutput(settings_.format, LayoutOf(settings_));
    } else if (settings_.Keeps()) {
      auto opened = OpenRows(settings_.folder, settings_.format, LayoutOf(settings_), kept_.rows);
      if (!opened) return std::unexpected(std::move(opened).error());
      rows_ = std::move(*opened);
    }
    if (settings_.legacy_json) {
      auto opened = AppendedFile::Open(LegacyRecordsPath(settings_), kept_.legacy_bytes);
      if (!opened) return std::unexpected(std::move(opened).error());
      records_.emplace(std::move(*opened));
    }
    return {};
  }

  Status Piece(int cycles) {
    observations_.resize(static_cast<std::size_t>(cycles) * runs_);
    values_.resize(observations_.size() * measures_);
    if (auto advanced = engine_.Advance(cycles, observations_); !advanced) return advanced;
    TakeMeasures(cycles);
    if (auto wrote = Write(); !wrote) return wrote;
    for (int i = 0; i < cycles; ++i) AddMeans(i);
    cycle_ += static_cast<std::uint64_t>(cycles);
    return {};
  }

  // Runs are taken by whichever thread is free; each is measured cycle by cycle.
  void TakeMeasures(int cycles) {
    if (measures_ == 0) return;
    std::atomic<std::size_t> next = 0;
    std::vector<std::optional<Unmeasured>> firsts(static_cast<std::size_t>(threads_));
    Together(std::min(threads_, settings_.engine.runs), [&](int thread, int) {
      std::optional<Unmeasured>& first = firsts[static_cast<std::size_t>(thread)];
      for (std::size_t run = next++; run < runs_; run = next++) {
        KeepFirst(MeasureRun(run, cycles), first);
      }
    });
    std::optional<Unmeasured> first;
    for (std::optional<Unmeasured>& each : firsts) KeepFirst(std::move(each), first);
    if (!kept_.unmeasured) kept_.unmeasured = std::move(first);
  }

  static void KeepFirst(std::optional<Unmeasured> found, std::optional<Unmeasured>& first) {
    if (found && (!first || found->IsBefore(*first))) first = std::move(found);
  }

  // The first window that could not be measured; its cells stay empty.
  std::optional<Unmeasured> MeasureRun(std::size_t run, int cycles) {
    std::optional<Unmeasured> first;
    for (int i = 0; i < cycles; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * runs_ + run;
      const std::uint64_t cycle = cycle_ + static_cast<std::uint64_t>(i) + 1;
      auto added = tracks_[run].Add(cycle, observations_[at],
                                    std::span(values_).subspan(at * measures_, measures_));
      if (added || first) continue;
      // The advice behind the reason is for somebody's own series.
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
        if (auto added = records_->Append(record); !added) return added;
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
        kept_.summary[k].Add(means.cycle, values_[at]);
        const bool due = RunMeasures::IsDue(settings_, k, means.cycle);
        if (due && std::isnan(values_[at])) ++kept_.summary[k].unmeasured;
      }
      means.values.push_back(here.count == 0 ? kNotAvailable : here.Mean());
    }
    kept_.since.push_back(std::move(means));
  }

  void Tell(const CycleMeans& means) const {
    if (events_.settled) events_.settled(means);
  }

  // Rows first: a checkpoint speaks only of rows that are there.
  Status Settle() {
    if (settled_ == cycle_) return {};
    if (rows_) {
      auto place = rows_->Settle();
      if (!place) return std::unexpected(std::move(place).error());
      kept_.rows = *place;
    }
    if (settings_.Keeps()) {
      if (auto saved = Save(); !saved) return saved;
    }
    settled_ = cycle_;
    for (const CycleMeans& each : kept_.since) Tell(each);
    kept_.since.clear();
    return {};
  }

  Status Save() {
    if (records_) {
      auto bytes = records_->Settle();
      if (!bytes) return std::unexpected(std::move(bytes).error());
      kept_.legacy_bytes = *bytes;
    }
    if (auto copied = engine_.CopyState(kept_.state); !copied) return copied;
    kept_.glances.clear();
    for (const RunMeasures& track : tracks_) kept_.glances.push_back(track.Glances());
    const double before = kept_.seconds;
    kept_.seconds += SecondsSince(begin_);
    auto saved = SaveCheckpoint(settings_, kept_);
    kept_.seconds = before;
    return saved;
  }

  Result<RunOutcome> Outcome(RunOutcome outcome) {
    outcome.finished = cycle_ == settings_.cycles;
    outcome.cycle = cycle_;
    outcome.started = kept_.started;
    outcome.seconds = kept_.seconds + SecondsSince(begin_);
    outcome.engine = engine_.name();
    outcome.measures = kept_.summary;
    outcome.unmeasured = kept_.unmeasured;
    if (settings_.legacy) {
      outcome.legacy_null =
          LegacyCombinedNullOf(kModules, settings_.engine.constants.dimension, kNullReplicates);
    }
    BatchState state;
    if (auto copied = engine_.CopyState(state); !copied) {
      return std::unexpected(std::move(copied).error());
    }
    for (int run = 0; run < settings_.engine.runs; ++run) {
      outcome.hashes.push_back(HashOfRun(state, settings_.engine, run));
    }
    if (!settings_.Keeps()) return outcome;
    if (outcome.finished && settings_.legacy_json) {
      if (auto wrote = WriteLegacyJson(settings_, outcome.started, TimeText()); !wrote) {
        return std::unexpected(std::move(wrote).error());
      }
    }
    auto file = platform::OutputFile::Create(SummaryPath(settings_));
    if (!file) return std::unexpected(std::move(file).error());
    auto wrote = file->Append(SummaryText(settings_, kept_.version, outcome));
    if (wrote) wrote = file->Finish();
    if (!wrote) return std::unexpected(std::move(wrote).error());
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
  Checkpoint kept_;
  std::uint64_t cycle_ = 0;
  std::uint64_t settled_ = 0;
  std::vector<RunMeasures> tracks_;
  std::unique_ptr<RowWriter> rows_;
  std::optional<AppendedFile> records_;
  std::vector<Observation> observations_;
  std::vector<double> values_;
  RowBlock block_;
};

}  // namespace

Result<RunOutcome> Run(const RunSettings& settings, CycleEngine& engine, std::string_view version,
                       int threads, const RunEvents& events) {
  return Runner(settings, engine, version, threads, events).Work();
}

}  // namespace reveza::phi
