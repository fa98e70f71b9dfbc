#include "fraudgen/run/runner.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "common/base/mutex.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/run/block_loop.h"
#include "fraudgen/run/manifest_store.h"

namespace reveza::fraudgen {
namespace {

// Memory that an unfinished file may hold: one part of an upload.
constexpr uint64_t kMaxHeld = uint64_t{10} << 20;

// Small files need not wait for a large one, and each thread has at most two large files pending.
Finisher::Limits LimitsFor(std::size_t threads, const Destination& destination) {
  return {.threads = destination.FinishConcurrency(threads),
          .max_tasks = 16 * threads,
          .max_bytes = 2 * threads * kMaxHeld};
}

// The files of a run, on their way to the destination. Thread-safe.
class RunFiles {
 public:
  RunFiles(const RunOptions& options, Destination& destination)
      : manifests_(destination, options.made_by, options.configuration),
        destination_(destination),
        finisher_(LimitsFor(static_cast<std::size_t>(options.threads), destination)) {}

  ManifestStore& manifests() { return manifests_; }

  BlockCalls Calls() {
    return {.keeps = [this](const PlannedFile& planned) { return Keeps(planned); },
            .create = [this](const PlannedFile& file) { return destination_.Create(file.name); },
            .finish = [this](WrittenFile file) { return FinishFile(std::move(file)); },
            .progress =
                [this](uint64_t rows, uint64_t bytes) {
                  rows_ += rows;
                  rows_made_ += rows;
                  bytes_made_ += bytes;
                },
            .drain = [this] { return finisher_.Drain(); }};
  }

  Progress Now() const {
    return {.rows = rows_,
            .rows_made = rows_made_,
            .bytes_made = bytes_made_,
            .files_made = files_made_,
            .files_kept = files_kept_};
  }

  TableTotals TakeTotals() {
    const MutexLock lock(mutex_);
    return std::move(tables_);
  }

 private:
  Result<bool> Keeps(const PlannedFile& planned) {
    destination_.RemovePartial(planned.name);
    ASSIGN_OR_RETURN(const auto manifest, manifests_.Find(planned));
    if (!manifest) return false;
    Count(*planned.table, manifest->rows, manifest->bytes);
    if (planned.rows) rows_ += *planned.rows;
    if (planned.block_rows > 0) rows_ += manifest->rows;
    ++files_kept_;
    return true;
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

  ManifestStore manifests_;
  Destination& destination_;

  std::atomic<uint64_t> rows_ = 0;
  std::atomic<uint64_t> rows_made_ = 0;
  std::atomic<uint64_t> bytes_made_ = 0;
  std::atomic<uint64_t> files_made_ = 0;
  std::atomic<uint64_t> files_kept_ = 0;

  Mutex mutex_;
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
  RunFiles files(options, destination);
  RETURN_IF_ERROR(files.manifests().Open(plan));
  BlockLoop loop(model, plan, options.table, files.Calls());
  ASSIGN_OR_RETURN(const auto done,
                   loop.Run(options.threads, [&] { return on_progress(files.Now()); }));
  RunResult result{.progress = files.Now(), .tables = files.TakeTotals(), .stopped = !done};
  if (result.stopped) return result;
  ASSIGN_OR_RETURN(result.complete, files.manifests().CommitAll(plan));
  return result;
}

}  // namespace reveza::fraudgen
