#include "datagen/output/stdout_sink.h"

#include <poll.h>
#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <system_error>

#include "platform/standard_output.h"

namespace reveza::datagen {
namespace {

// SIGPIPE, which ends a program by default, does not reach this thread while it exists.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutPipeSignal() {
    // Takes the one that a write here has caused, and leaves one that was there before.
    const timespec now{};
    if (!was_pending_) {
      while (sigtimedwait(&pipe_, nullptr, &now) == -1 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

Status FailBy(int error, int file, const std::string& name) {
  if (file == STDOUT_FILENO) return std::unexpected(platform::StandardOutputError(error));
  const Error::Code code = error == ENOSPC || error == EDQUOT || error == EFBIG
                               ? Error::Code::kExhausted
                               : Error::Code::kInternal;
  return Fail(code, "could not write to " + name + ": " + std::generic_category().message(error));
}

}  // namespace

Status StdoutSink::Append(std::string_view bytes) {
  const WithoutPipeSignal held;
  while (!bytes.empty()) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    const int error = errno;
    if (error == EPIPE) {
      reader_gone_ = true;
      return Fail(Error::Code::kUnavailable, "nobody reads " + name_ + " any more");
    }
    if (error == EAGAIN) {
      // Whoever gave us the descriptor made it non-blocking.
      pollfd wait{.fd = file_, .events = POLLOUT, .revents = 0};
      poll(&wait, 1, -1);
    } else if (error != EINTR) {
      return FailBy(error, file_, name_);
    }
  }
  return {};
}

}  // namespace reveza::datagen
