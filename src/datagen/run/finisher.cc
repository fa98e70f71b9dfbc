#include "datagen/run/finisher.h"

#include <utility>

namespace reveza::datagen {

Finisher::Finisher(const Limits& limits) : limits_(limits) {
  for (std::size_t i = 0; i < limits.at_a_time; ++i) threads_.emplace_back([this] { Loop(); });
}

Finisher::~Finisher() { End(); }

Status Finisher::Bring(uint64_t bytes, Work work) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return HasRoomFor(bytes) || error_; });
  if (error_) return std::unexpected(*error_);
  waiting_.push_back({bytes, std::move(work)});
  ++pieces_;
  bytes_ += bytes;
  changed_.notify_all();
  return {};
}

bool Finisher::HasRoomFor(uint64_t bytes) const {
  if (pieces_ == 0) return true;
  return pieces_ < limits_.pieces && bytes_ < limits_.bytes && bytes <= limits_.bytes - bytes_;
}

Status Finisher::Drain() {
  End();
  threads_.clear();
  if (error_) return std::unexpected(*error_);
  return {};
}

void Finisher::End() {
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void Finisher::Loop() {
  while (std::optional<Piece> piece = Next()) {
    Status done = piece->work();
    piece->work = nullptr;      // its files go before others are told
    std::deque<Piece> dropped;  // goes without the lock: giving up an upload is a request
    const std::scoped_lock lock(mutex_);
    --pieces_;
    bytes_ -= piece->bytes;
    if (!done && !error_) {
      error_ = std::move(done.error());
      dropped.swap(waiting_);
    }
    changed_.notify_all();
  }
}

std::optional<Finisher::Piece> Finisher::Next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !waiting_.empty() || ended_; });
  if (waiting_.empty()) return std::nullopt;
  Piece piece = std::move(waiting_.front());
  waiting_.pop_front();
  return piece;
}

}  // namespace reveza::datagen
