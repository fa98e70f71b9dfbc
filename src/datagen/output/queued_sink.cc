#include "datagen/output/queued_sink.h"

#include <algorithm>
#include <utility>

namespace reveza::datagen {

QueuedSink::QueuedSink(std::unique_ptr<ByteSink> next, std::size_t part_bytes, std::size_t parts,
                       std::shared_ptr<PartBudget> budget)
    : next_(std::move(next)),
      part_bytes_(part_bytes),
      parts_(parts),
      budget_(budget != nullptr ? std::move(budget) : std::make_shared<PartBudget>(parts)) {}

QueuedSink::~QueuedSink() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    DropWaiting();
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
    // All at once from here on: pages that are not written to cost nothing, and a copy does.
    if (filling_.size() + piece.size() > part_bytes_ / 8) filling_.reserve(part_bytes_);
    filling_ += piece;
    bytes.remove_prefix(piece.size());
  }
  return {};
}

Status QueuedSink::SendFilling() {
  if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
  std::string next = budget_->Take();
  std::unique_lock lock(mutex_);
  if (error_) {
    budget_->Give(std::move(next));
    return std::unexpected(*error_);
  }
  waiting_.push_back(std::move(filling_));
  changed_.notify_all();
  changed_.wait(lock, [this] { return error_ || waiting_.size() + (sending_ ? 1 : 0) < parts_; });
  if (error_) return std::unexpected(*error_);
  filling_ = std::move(next);
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

void QueuedSink::DropWaiting() {
  for (std::string& part : waiting_) budget_->Give(std::move(part));
  waiting_.clear();
}

void QueuedSink::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !waiting_.empty() || ended_; });
    if (waiting_.empty()) return;
    std::string part = std::move(waiting_.front());
    waiting_.pop_front();
    sending_ = true;
    lock.unlock();
    Status appended = next_->Append(part);
    budget_->Give(std::move(part));
    lock.lock();
    sending_ = false;
    if (!appended) {
      error_ = std::move(appended.error());
      DropWaiting();
      changed_.notify_all();
      return;
    }
    changed_.notify_all();
  }
}

}  // namespace reveza::datagen
