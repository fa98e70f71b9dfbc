#include "datagen/output/queued_sink.h"

#include <algorithm>
#include <utility>

namespace reveza::datagen {

QueuedSink::QueuedSink(std::unique_ptr<ByteSink> next, std::size_t part_bytes, std::size_t parts)
    : next_(std::move(next)), part_bytes_(part_bytes), parts_(parts) {}

QueuedSink::~QueuedSink() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    waiting_.clear();
    ended_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

Status QueuedSink::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    // Sent only when more comes: what fits into one part needs no thread.
    if (filling_.size() == part_bytes_) {
      if (auto sent = SendFilling(); !sent) return sent;
    }
    const std::string_view piece = bytes.substr(0, part_bytes_ - filling_.size());
    filling_ += piece;
    bytes.remove_prefix(piece.size());
  }
  return {};
}

Status QueuedSink::SendFilling() {
  if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
  std::unique_lock lock(mutex_);
  waiting_.push_back(std::move(filling_));
  changed_.notify_all();
  changed_.wait(lock, [this] { return error_ || !free_.empty() || made_ < parts_; });
  if (error_) return std::unexpected(*error_);
  if (free_.empty()) {
    filling_ = std::string();
    filling_.reserve(part_bytes_);
    ++made_;
  } else {
    filling_ = std::move(free_.front());
    free_.pop_front();
  }
  return {};
}

Status QueuedSink::Finish() {
  if (thread_.joinable()) {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    thread_.join();
    if (error_) return std::unexpected(*error_);
  }
  if (auto appended = next_->Append(filling_); !appended) return appended;
  // Others may wait behind it to be finished too.
  std::string().swap(filling_);
  return next_->Finish();
}

void QueuedSink::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !waiting_.empty() || ended_; });
    if (waiting_.empty()) return;
    std::string part = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Status appended = next_->Append(part);
    part.clear();
    lock.lock();
    if (!appended) {
      error_ = std::move(appended.error());
      waiting_.clear();
      changed_.notify_all();
      return;
    }
    free_.push_back(std::move(part));
    changed_.notify_all();
  }
}

}  // namespace reveza::datagen
