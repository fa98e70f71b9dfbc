// Ctrl-C and SIGTERM as something to ask for, not something that happens: what is finished stays,
// and the next run goes on from there. Made before any thread, used by one.
#pragma once

#include <signal.h>

#include "base/unique_fd.h"

namespace reveza::platform {

class StopSignals {
 public:
  // From now on they are held back, in this thread and those that it starts.
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The signal that came, or 0. After the first one a second ends the program at once.
  int Came();
  // Can be read from as soon as one came, until Came has said so.
  int file() const { return arrivals_.get(); }

 private:
  sigset_t signals_ = {};
  UniqueFd arrivals_;
  int came_ = 0;
};

}  // namespace reveza::platform
