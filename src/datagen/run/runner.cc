#include "datagen/run/runner.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "datagen/output/arrow_writer.h"
#include "datagen/output/memory_sink.h"
#include "datagen/run/block_files.h"
#include "datagen/run/finisher.h"
#include "datagen/run/receipts.h"

namespace reveza::datagen {
namespace {

constexpr std::chrono::milliseconds kBetweenReports(200);
// What a file may hold in memory until it is finished: a part of an upload.
constexpr uint64_t kMostHeld = uint64_t{10} << 20;

// So that the small files of a block need not wait for its large one, and two large ones of each
// thread at most are under way.
Finisher::Limits LimitsFor(std::size_t threads, const Destination& destination) {
  return {.at_a_time = destination.FinishedAtATime(threads),
          .pieces = 16 * threads,
          .bytes = 2 * threads * kMostHeld};
}

// What the threads of a run share.
class Work {
 public:
  Work(const Model& model, const Plan& plan, const RunOptions& options, Destination& destination)
      : model_(model),
        plan_(plan),
        options_(options),
        receipts_(destination, options.made_by, options.configuration),
        destination_(destination),
        finisher_(LimitsFor(static_cast<std::size_t>(options.threads), destination)) {}

  Status Begin() { return receipts_.Begin(plan_); }

  // Makes blocks until there are none left, or until somebody says so.
  void Loop() {
    while (!stop_) {
      const uint64_t n = next_++;
      if (n >= plan_.blocks()) break;
      if (auto made = MakeBlock(plan_.BlockAt(n)); !made) Fails(std::move(made.error()));
      // What a block leaves is in pieces that the next one does not fit into: it would add up.
      ReleaseWriterMemory();
      malloc_trim(0);
    }
    // What is made has to last too, which may take longer than making it: meanwhile whoever watches
    // goes on watching.
    if (++looped_ == options_.threads) {
      if (auto drained = finisher_.Drain(); !drained) Fails(std::move(drained.error()));
    }
    const std::scoped_lock lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }

  // Waits for the loops, and asks now and then whether to go on.
  void Watch(const OnProgress& on_progress) {
    std::unique_lock lock(mutex_);
    while (
        !changed_.wait_for(lock, kBetweenReports, [this] { return ended_ == options_.threads; })) {
      lock.unlock();
      if (!stop_ && !on_progress(Now())) {
        stopped_ = true;
        stop_ = true;
      }
      lock.lock();
    }
  }

  Result<RunResult> End() {
    if (error_) return std::unexpected(*error_);
    RunResult result{.progress = Now(), .tables = std::move(tables_), .stopped = stopped_};
    if (stopped_) return result;
    auto complete = receipts_.WriteWhole(plan_);
    if (!complete) return std::unexpected(complete.error());
    result.complete = *complete;
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
  Status MakeBlock(uint64_t index) {
    std::vector<BlockFile> files;
    for (PlannedFile& planned : plan_.FilesOf(index)) {
      destination_.Clean(planned.name);
      const auto receipt = receipts_.Find(planned);
      if (!receipt) return std::unexpected(receipt.error());
      if (*receipt) {
        Count(*planned.table, (*receipt)->rows, (*receipt)->bytes);
        if (planned.rows) rows_ += *planned.rows;
        if (planned.block_rows > 0) rows_ += (*receipt)->rows;
        ++files_kept_;
      }
      files.push_back({.planned = std::move(planned), .kept = receipt->has_value()});
      if (stop_) return {};
    }
    BlockFiles block(options_.table, std::move(files), MakeCalls());
    const std::vector<const Table*> wanted = block.Wanted();
    if (wanted.empty()) return {};
    if (auto made = model_.Make(index, wanted, block); !made) return made;
    return block.End();
  }

  BlockFiles::Calls MakeCalls() {
    return {.create = [this](const PlannedFile& file) { return destination_.Create(file.name); },
            .finish = [this](WrittenFile file) { return Finish(std::move(file)); },
            .progress = [this](uint64_t rows, uint64_t bytes) -> Status {
              rows_ += rows;
              rows_made_ += rows;
              bytes_made_ += bytes;
              if (!stop_) return {};
              return Fail(Error::Code::kUnavailable, "stopped");
            }};
  }

  Status Finish(WrittenFile file) {
    const uint64_t held = std::min(file.bytes, kMostHeld);
    return finisher_.Bring(held, [this, file = std::move(file)]() -> Status {
      if (auto mine = receipts_.MayReplace(file); !mine) return mine;
      if (auto finished = file.sink->Finish(); !finished) return finished;
      if (auto written = receipts_.Write(file); !written) return written;
      Count(*file.planned.table, file.rows, file.bytes);
      ++files_made_;
      return {};
    });
  }

  void Count(const Table& table, uint64_t rows, uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    TableTotal& total = tables_[table.name];
    ++total.files;
    total.rows += rows;
    total.bytes += bytes;
  }

  // The first error is the one that counts: others follow from it. Who was told to stop gives up in
  // the middle of a block, which is no failure.
  void Fails(Error error) {
    const std::scoped_lock lock(mutex_);
    if (!error_ && !stopped_) error_ = std::move(error);
    stop_ = true;
  }

  const Model& model_;
  const Plan& plan_;
  const RunOptions& options_;
  Receipts receipts_;
  Destination& destination_;

  std::atomic<uint64_t> next_ = 0;
  std::atomic<int> looped_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> stopped_ = false;  // by whoever watches
  std::atomic<uint64_t> rows_ = 0;
  std::atomic<uint64_t> rows_made_ = 0;
  std::atomic<uint64_t> bytes_made_ = 0;
  std::atomic<uint64_t> files_made_ = 0;
  std::atomic<uint64_t> files_kept_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  int ended_ = 0;
  std::optional<Error> error_;
  std::map<std::string_view, TableTotal> tables_;

  Finisher finisher_;  // last: it uses the others
};

}  // namespace

Result<RunResult> Run(const Model& model, const Plan& plan, const RunOptions& options,
                      Destination& destination, const OnProgress& on_progress) {
  // Before anything is written: this build and these options can write such a file.
  MemorySink nowhere;
  if (auto writer = MakeTableWriter(options.table, *model.tables().front(), nowhere); !writer) {
    return std::unexpected(writer.error());
  }
  if (auto prepared = destination.Prepare(); !prepared) return std::unexpected(prepared.error());
  Work work(model, plan, options, destination);
  if (auto begun = work.Begin(); !begun) return std::unexpected(begun.error());
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < options.threads; ++i) threads.emplace_back([&work] { work.Loop(); });
    work.Watch(on_progress);
  }
  return work.End();
}

}  // namespace reveza::datagen
