#include "fraudgen/run/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/run/block_files.h"
#include "fraudgen/run/manifest_store.h"

namespace reveza::fraudgen {
namespace {

constexpr std::chrono::milliseconds kReportInterval(200);
// Memory that an unfinished file may hold: one part of an upload.
constexpr uint64_t kMaxHeld = uint64_t{10} << 20;

// Small files need not wait for a large one, and each thread has at most two large files pending.
Finisher::Limits LimitsFor(std::size_t threads, const Destination& destination) {
  return {.threads = destination.FinishConcurrency(threads),
          .max_tasks = 16 * threads,
          .max_bytes = 2 * threads * kMaxHeld};
}

// State shared by the threads of a run.
class Work {
 public:
  Work(const Model& model, const Plan& plan, const RunOptions& options, Destination& destination)
      : model_(model),
        plan_(plan),
        options_(options),
        manifests_(destination, options.made_by, options.configuration),
        destination_(destination),
        finisher_(LimitsFor(static_cast<std::size_t>(options.threads), destination)) {}

  Status Open() { return manifests_.Open(plan_); }

  // Makes groups of blocks until none are left or the run is stopped. Runs on each worker thread.
  void Loop() {
    while (!stop_) {
      const uint64_t n = next_++;
      if (n >= plan_.groups()) break;
      if (auto made = MakeGroup(n); !made) SetError(std::move(made.error()));
    }
    // The last worker waits for pending files, so that Watch() keeps reporting meanwhile.
    if (++idle_workers_ == options_.threads) {
      if (auto drained = finisher_.Drain(); !drained) SetError(std::move(drained.error()));
    }
    const MutexLock lock(mutex_);
    ++ended_;
    changed_.NotifyAll();
  }

  // Waits for the workers and reports progress meanwhile.
  void Watch(const OnProgress& on_progress) {
    MutexLock lock(mutex_);
    while (ended_ < options_.threads) {
      if (changed_.WaitFor(mutex_, kReportInterval)) continue;
      lock.Unlock();
      if (!stop_ && !on_progress(Now())) {
        stopped_ = true;
        stop_ = true;
      }
      lock.Lock();
    }
  }

  Result<RunResult> Finish() {
    const MutexLock lock(mutex_);
    if (error_) return std::unexpected(*error_);
    RunResult result{.progress = Now(), .tables = std::move(tables_), .stopped = stopped_};
    if (stopped_) return result;
    ASSIGN_OR_RETURN(auto complete, manifests_.CommitAll(plan_));
    result.complete = complete;
    return result;
  }

  Progress Now() const {
    return {.rows = rows_,
            .rows_made = rows_made_,
            .bytes_made = bytes_made_,
            .files_made = files_made_,
            .files_kept = files_kept_};
  }

 private:
  // Makes the blocks of a group, with the files that span it.
  Status MakeGroup(uint64_t n) {
    const auto [first, end] = plan_.GroupAt(n);
    std::optional<BlockFiles> shared;
    for (uint64_t block = first; block < end; ++block) {
      std::vector<BlockFile> own;
      std::vector<BlockFile> spanning;
      for (PlannedFile& planned : plan_.FilesOf(block)) {
        ASSIGN_OR_RETURN(auto file, FindFile(std::move(planned)));
        (file.planned.blocks > 1 ? spanning : own).push_back(std::move(file));
        if (stop_) return {};
      }
      if (!shared) shared.emplace(options_.table, std::move(spanning), MakeCalls());
      BlockFiles files(options_.table, std::move(own), MakeCalls());
      RETURN_IF_ERROR(MakeBlock(block, *shared, files));
      // Otherwise it would add up over blocks.
      ReleaseWriterMemory();
      if (stop_) return {};
    }
    return shared ? shared->End() : Status();
  }

  Result<BlockFile> FindFile(PlannedFile planned) {
    destination_.RemovePartial(planned.name);
    ASSIGN_OR_RETURN(const auto manifest, manifests_.Find(planned));
    if (manifest) {
      Count(*planned.table, manifest->rows, manifest->bytes);
      if (planned.rows) rows_ += *planned.rows;
      if (planned.block_rows > 0) rows_ += manifest->rows;
      ++files_kept_;
    }
    return BlockFile{.planned = std::move(planned), .kept = manifest.has_value()};
  }

  Status MakeBlock(uint64_t block, BlockFiles& shared, BlockFiles& own) {
    std::vector<const Table*> wanted = own.Wanted();
    std::ranges::copy(shared.Wanted(), std::back_inserter(wanted));
    if (!wanted.empty()) {
      FunctionSink rows([&](const Batch& batch) {
        return shared.Has(batch.table()) ? shared.Put(batch) : own.Put(batch);
      });
      RETURN_IF_ERROR(model_.Make(block, wanted, rows));
    }
    shared.EndBlock();
    return own.End();
  }

  BlockFiles::Calls MakeCalls() {
    return {.create = [this](const PlannedFile& file) { return destination_.Create(file.name); },
            .finish = [this](WrittenFile file) { return FinishFile(std::move(file)); },
            .progress = [this](uint64_t rows, uint64_t bytes) -> Status {
              rows_ += rows;
              rows_made_ += rows;
              bytes_made_ += bytes;
              if (!stop_) return {};
              return Fail(Error::Code::kUnavailable, "stopped");
            }};
  }

  Status FinishFile(WrittenFile file) {
    const uint64_t held = std::min(file.bytes, kMaxHeld);
    return finisher_.Submit(held, [this, file = std::move(file)]() -> Status {
      RETURN_IF_ERROR(manifests_.CheckReplaceable(file));
      RETURN_IF_ERROR(file.sink->Finish());
      RETURN_IF_ERROR(manifests_.Commit(file));
      Count(*file.planned.table, file.rows, file.bytes);
      ++files_made_;
      return {};
    });
  }

  void Count(const Table& table, uint64_t rows, uint64_t bytes) {
    const MutexLock lock(mutex_);
    TableTotal& total = tables_[table.name];
    ++total.files;
    total.rows += rows;
    total.bytes += bytes;
  }

  // Keeps the first error; others follow from it. A worker that was stopped in the middle of a
  // block has not failed.
  void SetError(Error error) {
    const MutexLock lock(mutex_);
    if (!error_ && !stopped_) error_ = std::move(error);
    stop_ = true;
  }

  const Model& model_;
  const Plan& plan_;
  const RunOptions& options_;
  ManifestStore manifests_;
  Destination& destination_;

  std::atomic<uint64_t> next_ = 0;
  std::atomic<int> idle_workers_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> stopped_ = false;  // by on_progress
  std::atomic<uint64_t> rows_ = 0;
  std::atomic<uint64_t> rows_made_ = 0;
  std::atomic<uint64_t> bytes_made_ = 0;
  std::atomic<uint64_t> files_made_ = 0;
  std::atomic<uint64_t> files_kept_ = 0;

  Mutex mutex_;
  CondVar changed_;
  int ended_ GUARDED_BY(mutex_) = 0;
  std::optional<Error> error_ GUARDED_BY(mutex_);
  TableTotals tables_ GUARDED_BY(mutex_);

  Finisher finisher_;  // last: its tasks use the other members
};

}  // namespace

Result<RunResult> Run(const Model& model, const Plan& plan, const RunOptions& options,
                      Destination& destination, const OnProgress& on_progress) {
  // Fails before anything is written if this build cannot write such files.
  MemorySink nowhere;
  RETURN_IF_ERROR(MakeTableWriter(options.table, *model.tables().front(), nowhere));
  RETURN_IF_ERROR(destination.Prepare());
  Work work(model, plan, options, destination);
  RETURN_IF_ERROR(work.Open());
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < options.threads; ++i) threads.emplace_back([&work] { work.Loop(); });
    work.Watch(on_progress);
  }
  return work.Finish();
}

}  // namespace reveza::fraudgen
