#include "fraudgen/output/queued_sink.h"

#include <algorithm>
#include <utility>

namespace reveza::fraudgen {

QueuedSink::QueuedSink(std::unique_ptr<ByteSink> next, std::size_t part_bytes, std::size_t parts,
                       std::shared_ptr<PartBudget> budget)
    : next_(std::move(next)),
      part_bytes_(part_bytes),
      parts_(parts),
      budget_(budget != nullptr ? std::move(budget) : std::make_shared<PartBudget>(parts)) {}

QueuedSink::~QueuedSink() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    DropQueue();
    closed_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

Status QueuedSink::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    // Sent only when more arrives: a single part needs no thread.
    if (filling_.size() == part_bytes_) RETURN_IF_ERROR(SendFilling());
    const std::string_view piece = bytes.substr(0, part_bytes_ - filling_.size());
    // Reserves the whole part: untouched pages cost nothing, reallocations do.
    if (filling_.size() + piece.size() > part_bytes_ / 8) filling_.reserve(part_bytes_);
    filling_ += piece;
    bytes.remove_prefix(piece.size());
  }
  return {};
}

Status QueuedSink::SendFilling() {
  if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
  std::string next = budget_->Acquire();
  const MutexLock lock(mutex_);
  if (error_) {
    budget_->Release(std::move(next));
    return std::unexpected(*error_);
  }
  queue_.push_back(std::move(filling_));
  changed_.NotifyAll();
  while (!error_ && queue_.size() + (sending_ ? 1 : 0) >= parts_) changed_.Wait(mutex_);
  if (error_) return std::unexpected(*error_);
  filling_ = std::move(next);
  return {};
}

Status QueuedSink::Finish() {
  if (thread_.joinable()) {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
      changed_.NotifyAll();
    }
    thread_.join();
    const MutexLock lock(mutex_);
    if (error_) return std::unexpected(*error_);
  }
  RETURN_IF_ERROR(next_->Append(filling_));
  // Releases the budget early for other files.
  std::string().swap(filling_);
  return next_->Finish();
}

void QueuedSink::DropQueue() {
  for (std::string& part : queue_) budget_->Release(std::move(part));
  queue_.clear();
}

void QueuedSink::Loop() {
  MutexLock lock(mutex_);
  for (;;) {
    while (queue_.empty() && !closed_) changed_.Wait(mutex_);
    if (queue_.empty()) return;
    std::string part = std::move(queue_.front());
    queue_.pop_front();
    sending_ = true;
    lock.Unlock();
    Status appended = next_->Append(part);
    budget_->Release(std::move(part));
    lock.Lock();
    sending_ = false;
    if (!appended) {
      error_ = std::move(appended.error());
      DropQueue();
      changed_.NotifyAll();
      return;
    }
    changed_.NotifyAll();
  }
}

}  // namespace reveza::fraudgen
