// Makes files last while their makers go on with the next: waiting for a disk takes no processor.
// Safe from several threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.h"

namespace reveza::datagen {

class Finisher {
 public:
  using Work = std::move_only_function<Status()>;

  // At most `most` pieces of work wait; more makes who brings it wait.
  explicit Finisher(std::size_t most);
  // Does what was brought, unless a piece of it failed.
  ~Finisher();
  Finisher(const Finisher&) = delete;
  Finisher& operator=(const Finisher&) = delete;

  // The error of an earlier piece, after which no other is done.
  Status Bring(Work work);
  // Waits until all is done. Called once, by one thread, when nobody brings anything any more.
  Status Drain();

 private:
  void Loop();

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  std::optional<Error> error_;
  bool ended_ = false;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace reveza::datagen
