#include "datagen/run/finisher.h"

#include <utility>

namespace reveza::datagen {

Finisher::Finisher(std::size_t most) : most_(most), thread_([this] { Loop(); }) {}

Finisher::~Finisher() {
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

Status Finisher::Bring(Work work) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.size() < most_ || error_; });
  if (error_) return std::unexpected(*error_);
  waiting_.push_back(std::move(work));
  changed_.notify_all();
  return {};
}

Status Finisher::Drain() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  thread_.join();
  if (error_) return std::unexpected(*error_);
  return {};
}

void Finisher::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !waiting_.empty() || ended_; });
    if (waiting_.empty()) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.notify_all();
    lock.unlock();
    Status done = work();
    work = nullptr;  // its files go before others are told
    lock.lock();
    if (done) continue;
    error_ = std::move(done.error());
    waiting_.clear();
    changed_.notify_all();
  }
}

}  // namespace reveza::datagen
