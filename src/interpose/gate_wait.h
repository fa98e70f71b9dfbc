// One thread's wait at the closed gate, as the person at the terminal sees it: after five seconds
// a line on stderr that says why, then one a minute; and Ctrl-C that is not swallowed.
#pragma once

#include <signal.h>
#include <time.h>

#include <cstdint>

namespace reveza::interpose {

class GateWait {
 public:
  GateWait();
  ~GateWait();
  GateWait(const GateWait&) = delete;
  GateWait& operator=(const GateWait&) = delete;

  // How long to sleep before the next Tick.
  timespec NextTimeout() const;
  // A signal handler ran while we slept. A program's own SIGINT handler (Python's) only leaves a
  // note that is read when the call returns, which may be long: the second Ctrl-C ends the program
  // as if it had no handler.
  void Interrupted();
  // Prints what is due.
  void Tick();

 private:
  std::int64_t began_us_;
  std::int64_t next_line_us_;
};

// Prints "reveza: ..." as one line on stderr, unless REVEZA_QUIET=1. At most 500 characters.
__attribute__((format(printf, 1, 2))) void Say(const char* format, ...);

}  // namespace reveza::interpose
