#include "datagen/stream/pipe_sink.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "datagen/stream/pretty_json.h"
#include "platform/standard_output.h"

namespace reveza::datagen {
namespace {

// So much at once stays in a processor's cache.
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 17;
constexpr int kPipeBytes = 1 << 20;
// How long Stop leaves the reader for the rest of a line that has begun.
constexpr int kRestOfLineMilliseconds = 1'000;

// Without blocking, whoever else has the descriptor: that is a property of what was opened, so it
// is opened once more. Files on disk never block, and know how far they are written.
UniqueFd WithoutBlocking(int file) {
  struct stat what = {};
  if (fstat(file, &what) != 0 || !(S_ISFIFO(what.st_mode) || isatty(file) == 1)) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  UniqueFd opened(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  // Fewer changes between writer and reader; a pipe that may not grow does as it is.
  if (opened && S_ISFIFO(what.st_mode)) fcntl(opened.get(), F_SETPIPE_SZ, kPipeBytes);
  return opened;
}

}  // namespace

PipeSink::PipeSink(int file, Look look, Stop& stop)
    : file_(file), without_blocking_(WithoutBlocking(file)), look_(look), stop_(stop) {}

// How much of text_ was written: all of it unless Stop came; then whole lines, if the reader lets
// us.
Result<std::size_t> PipeSink::Drain() {
  const int file = without_blocking_ ? without_blocking_.get() : file_;
  const std::string_view bytes = text_.view();
  std::size_t done = 0;
  std::size_t goal = bytes.size();
  bool stopping = false;
  while (done < goal) {
    const ssize_t written = write(file, bytes.data() + done, goal - done);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
      continue;
    }
    const int error = errno;
    if (error == EINTR) continue;
    if (error != EAGAIN) return FailBy(error);
    if (!stopping && stop_.Came()) {
      stopping = true;
      goal = done == 0 ? 0 : *std::ranges::lower_bound(ends_, done);
      continue;
    }
    std::array<pollfd, 2> either = {
        {{.fd = file, .events = POLLOUT, .revents = 0},
         {.fd = stopping ? -1 : stop_.file(), .events = POLLIN, .revents = 0}}};
    const int timeout = stopping ? kRestOfLineMilliseconds : -1;
    if (poll(either.data(), either.size(), timeout) == 0) break;
  }
  return done;
}

std::unexpected<Error> PipeSink::FailBy(int error) {
  if (error == EPIPE) reader_gone_ = true;
  return std::unexpected(platform::StandardOutputError(error));
}

Result<std::size_t> PipeSink::Send(std::span<const Event> events) {
  if (failure_) return std::unexpected(*failure_);
  std::size_t sent = 0;
  while (sent < events.size()) {
    text_.Clear();
    ends_.clear();
    while (sent + ends_.size() < events.size() && text_.size() < kBytesAtOnce) {
      const Event& event = events[sent + ends_.size()];
      if (look_ == Look::kPretty) {
        AppendPretty(event.record(), text_);
        text_.Append("\n");
      } else {
        text_.Append(event.line);
      }
      ends_.push_back(text_.size());
    }
    const auto done = Drain();
    if (!done) {
      failure_ = done.error();
      return sent > 0 ? Result<std::size_t>(sent) : std::unexpected(*failure_);
    }
    const auto whole =
        static_cast<std::size_t>(std::ranges::upper_bound(ends_, *done) - ends_.begin());
    sent += whole;
    confirmed_ += whole;
    if (whole < ends_.size()) break;
  }
  return sent;
}

}  // namespace reveza::datagen
