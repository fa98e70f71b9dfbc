// Makes the blocks of a plan on several threads and passes the files of these to callbacks. A run
// writes them; a check compares them with files that exist. Not thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/error.h"
#include "common/base/mutex.h"
#include "fraudgen/model/model.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/run/block_files.h"
#include "fraudgen/run/plan.h"

namespace reveza::fraudgen {

// Called by all threads. An error ends the loop.
struct BlockCalls {
  // Returns true for a file that need not be made.
  std::function<Result<bool>(const PlannedFile&)> keeps;
  // See BlockFiles::Calls.
  std::function<Result<std::unique_ptr<ByteSink>>(const PlannedFile&)> create;
  BlockFiles::MakeWriter make_writer = nullptr;
  std::function<Status(WrittenFile)> finish;
  std::function<void(uint64_t rows, uint64_t bytes)> progress;
  // Called once by the last thread, while poll() still is.
  std::function<Status()> drain = [] { return Status(); };
};

class BlockLoop {
 public:
  // All must outlive it.
  BlockLoop(const Model& model, const Plan& plan, const TableOptions& options, BlockCalls calls)
      : model_(model), plan_(plan), options_(options), calls_(std::move(calls)) {}

  // Makes the groups of the plan's shard. Calls `poll` about five times a second on the calling
  // thread; if it returns false, the loop stops. Returns false if stopped. Called once.
  Result<bool> Run(int threads, const std::function<bool()>& poll);

 private:
  void Loop(int threads);
  void Watch(int threads, const std::function<bool()>& poll);
  Status MakeGroup(uint64_t n);
  Status MakeBlock(uint64_t block, BlockFiles& shared, BlockFiles& own);
  BlockFiles::Calls FileCalls();
  void SetError(Error error);

  const Model& model_;
  const Plan& plan_;
  const TableOptions& options_;
  const BlockCalls calls_;

  std::atomic<uint64_t> next_ = 0;
  std::atomic<int> idle_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> stopped_ = false;  // by poll()

  Mutex mutex_;
  CondVar changed_;
  int ended_ GUARDED_BY(mutex_) = 0;
  std::optional<Error> error_ GUARDED_BY(mutex_);
};

}  // namespace reveza::fraudgen
