#include "fraudgen/run/finisher.h"

#include <utility>

namespace reveza::fraudgen {

Finisher::Finisher(const Limits& limits) : limits_(limits) {
  for (std::size_t i = 0; i < limits.threads; ++i) threads_.emplace_back([this] { Loop(); });
}

Finisher::~Finisher() { Close(); }

Status Finisher::Submit(uint64_t bytes, Work work) {
  const MutexLock lock(mutex_);
  while (!HasRoomFor(bytes) && !error_) changed_.Wait(mutex_);
  if (error_) return std::unexpected(*error_);
  queue_.push_back({bytes, std::move(work)});
  ++tasks_;
  bytes_ += bytes;
  changed_.NotifyAll();
  return {};
}

bool Finisher::HasRoomFor(uint64_t bytes) const {
  if (tasks_ == 0) return true;
  return tasks_ < limits_.max_tasks && bytes_ < limits_.max_bytes &&
         bytes <= limits_.max_bytes - bytes_;
}

Status Finisher::Drain() {
  Close();
  threads_.clear();
  const MutexLock lock(mutex_);
  if (error_) return std::unexpected(*error_);
  return {};
}

void Finisher::Close() {
  const MutexLock lock(mutex_);
  closed_ = true;
  changed_.NotifyAll();
}

void Finisher::Loop() {
  while (std::optional<Task> task = Next()) {
    Status done = task->work();
    task->work = nullptr;      // closes its files before waiters are notified
    std::deque<Task> dropped;  // destroyed without the lock: aborting an upload is a request
    const MutexLock lock(mutex_);
    --tasks_;
    bytes_ -= task->bytes;
    if (!done && !error_) {
      error_ = std::move(done.error());
      dropped.swap(queue_);
    }
    changed_.NotifyAll();
  }
}

std::optional<Finisher::Task> Finisher::Next() {
  const MutexLock lock(mutex_);
  while (queue_.empty() && !closed_) changed_.Wait(mutex_);
  if (queue_.empty()) return std::nullopt;
  Task task = std::move(queue_.front());
  queue_.pop_front();
  return task;
}

}  // namespace reveza::fraudgen
