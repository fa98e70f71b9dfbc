// SIGINT and SIGTERM as events to poll for, so that a program can stop at a safe point. Create
// before starting threads; use from one thread.
#pragma once

#include <signal.h>

#include "common/base/unique_fd.h"

namespace reveza::platform {

class StopSignals {
 public:
  // Blocks the signals in this thread and in those that it starts.
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Returns the signal received, or 0. After the first signal, a second one kills the program.
  int Received();
  // Readable from the arrival of a signal until Received() returns it.
  int file() const { return signal_fd_.get(); }

 private:
  sigset_t signals_ = {};
  UniqueFd signal_fd_;
  int received_ = 0;
};

}  // namespace reveza::platform
