// Makes Ctrl-C work for a thread that waits inside a call of the library.
//
// Some handlers (Python's) only set a flag that is checked when the call returns, which may take
// long. So the program's SIGINT handler is wrapped while threads wait, to count the interrupts that
// a waiting thread receives: the first one prints a hint, the second one terminates the program as
// if it had no handler.
//
// The program may save the wrapped action and restore it at any time, as system(3), getpass(3) and
// readline do. A wrapper therefore forwards to the same handler for ever, is never wrapped again,
// and leaves flags and mask to the program.
#pragma once

namespace reveza::interpose {

// Belongs to the thread that waits.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  // Call when a signal may have arrived. Does not return after the second interrupt.
  void Check();
  // Restores the program's handler in a forked child, in which no thread waits.
  static void ResetAfterFork();

 private:
  int reported_ = 0;
};

}  // namespace reveza::interpose
