#include "fraudgen/run/block_loop.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

namespace reveza::fraudgen {
namespace {

constexpr std::chrono::milliseconds kPollInterval(200);

}  // namespace

Result<bool> BlockLoop::Run(int threads, const std::function<bool()>& poll) {
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i) workers.emplace_back([this, threads] { Loop(threads); });
    Watch(threads, poll);
  }
  const MutexLock lock(mutex_);
  if (error_) return std::unexpected(*error_);
  return !stopped_;
}

// Makes groups of blocks until none are left or the loop is stopped. Runs on each worker thread.
void BlockLoop::Loop(int threads) {
  while (!stop_) {
    const uint64_t n = next_++;
    if (n >= plan_.shard().groups()) break;
    if (auto made = MakeGroup(n); !made) SetError(std::move(made.error()));
  }
  // The last worker waits for pending files, so that Watch() keeps polling meanwhile.
  if (++idle_ == threads) {
    if (auto drained = calls_.drain(); !drained) SetError(std::move(drained.error()));
  }
  const MutexLock lock(mutex_);
  ++ended_;
  changed_.NotifyAll();
}

void BlockLoop::Watch(int threads, const std::function<bool()>& poll) {
  MutexLock lock(mutex_);
  while (ended_ < threads) {
    if (changed_.WaitFor(mutex_, kPollInterval)) continue;
    lock.Unlock();
    if (!stop_ && !poll()) {
      stopped_ = true;
      stop_ = true;
    }
    lock.Lock();
  }
}

// Makes the blocks of a group, with the files that span it.
Status BlockLoop::MakeGroup(uint64_t n) {
  const auto [first, end] = plan_.shard().GroupAt(n);
  std::optional<BlockFiles> shared;
  for (uint64_t block = first; block < end; ++block) {
    std::vector<BlockFile> own;
    std::vector<BlockFile> spanning;
    for (PlannedFile& planned : plan_.FilesOf(block)) {
      ASSIGN_OR_RETURN(const auto kept, calls_.keeps(planned));
      const bool spans = planned.blocks > 1;
      (spans ? spanning : own).push_back({.planned = std::move(planned), .kept = kept});
      if (stop_) return {};
    }
    if (!shared) shared.emplace(options_, std::move(spanning), FileCalls());
    BlockFiles files(options_, std::move(own), FileCalls());
    RETURN_IF_ERROR(MakeBlock(block, *shared, files));
    // Otherwise it would add up over blocks.
    ReleaseWriterMemory();
    if (stop_) return {};
  }
  return shared ? shared->End() : Status();
}

Status BlockLoop::MakeBlock(uint64_t block, BlockFiles& shared, BlockFiles& own) {
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

BlockFiles::Calls BlockLoop::FileCalls() {
  return {.create = calls_.create,
          .make_writer = calls_.make_writer,
          .finish = calls_.finish,
          .progress = [this](uint64_t rows, uint64_t bytes) -> Status {
            calls_.progress(rows, bytes);
            if (!stop_) return {};
            return Fail(Error::Code::kUnavailable, "stopped");
          }};
}

// Keeps the first error; others follow from it. A worker that was stopped in the middle of a block
// has not failed.
void BlockLoop::SetError(Error error) {
  const MutexLock lock(mutex_);
  if (!error_ && !stopped_) error_ = std::move(error);
  stop_ = true;
}

}  // namespace reveza::fraudgen
