// Makes files last while their makers go on with the next: waiting for a disk or a store takes no
// processor. Safe from several threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"

namespace reveza::datagen {

class Finisher {
 public:
  using Work = std::move_only_function<Status()>;

  struct Limits {
    std::size_t at_a_time = 1;
    // What was brought and is not done yet: so many pieces, of so many bytes in all.
    std::size_t pieces = 1;
    uint64_t bytes = UINT64_MAX;
  };

  explicit Finisher(const Limits& limits);
  // Does what was brought, unless a piece of it failed.
  ~Finisher();
  Finisher(const Finisher&) = delete;
  Finisher& operator=(const Finisher&) = delete;

  // Waits until the limits have room; a piece that is larger than they are comes in alone.
  // The error is that of an earlier piece, after which no other is begun.
  Status Bring(uint64_t bytes, Work work);
  // Waits until all is done. Called once, by one thread, when nobody brings anything any more.
  Status Drain();

 private:
  struct Piece {
    uint64_t bytes;
    Work work;
  };

  void Loop();
  // Nothing: there is none left, and nobody brings one.
  std::optional<Piece> Next();
  // With the lock held.
  bool HasRoomFor(uint64_t bytes) const;
  void End();

  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> waiting_;
  std::size_t pieces_ = 0;  // those in work too
  uint64_t bytes_ = 0;
  std::optional<Error> error_;
  bool ended_ = false;
  std::vector<std::jthread> threads_;  // last: they use the others
};

}  // namespace reveza::datagen
