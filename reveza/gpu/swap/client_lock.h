// A lock among all clients of one daemon, which works without the daemon too: an fcntl record lock
// on a file beside its socket. Record locks belong to the process: a forked child does not inherit
// them, and the kernel releases them on exit. Not thread-safe; one thread of a process at a time
// may use locks of the same name.
#pragma once

#include <cstdint>

namespace reveza::swap {

class ClientLock {
 public:
  // `name` follows the path of the socket (REVEZA_SOCKET) and a dot in that of the file.
  explicit ClientLock(const char* name);
  ~ClientLock();
  ClientLock(const ClientLock&) = delete;
  ClientLock& operator=(const ClientLock&) = delete;

  // Returns whether the lock is held, or cannot be had at all: without a folder or a permission the
  // caller goes on without it.
  bool TryAcquire();
  // Waits for it. Returns false if another process holds it for `timeout_us`, e.g. a stopped one.
  bool Acquire(std::int64_t timeout_us);
  // Waits as long as those who wait in Acquire() for a released lock need to take it. Who takes it
  // again and again at once would keep them out.
  static void LetOthersPass();

 private:
  int fd_ = -1;
};

}  // namespace reveza::swap
