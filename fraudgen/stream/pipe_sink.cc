#include "fraudgen/stream/pipe_sink.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "common/platform/standard_output.h"

namespace reveza::fraudgen {
namespace {

// Written at a time; fits into the cache.
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 17;
constexpr int kPipeBytes = 1 << 20;
// Time for the reader to accept the rest of a line after a stop request.
constexpr int kRestOfLineMilliseconds = 1'000;

constexpr std::size_t kIndent = 2;

void NewLine(std::size_t depth, TextBuffer& text) {
  text.Append("\n");
  text.Append(std::string(kIndent * depth, ' '));
}

// Returns the position after the string that starts at `begin`.
std::size_t EndOfString(std::string_view json, std::size_t begin) {
  std::size_t at = begin + 1;
  while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
  return at + 1;
}

// O_NONBLOCK belongs to the open file description, which may be shared, so pipes and terminals are
// reopened. Regular files never block and have a shared offset.
UniqueFd WithoutBlocking(int file) {
  struct stat what = {};
  if (fstat(file, &what) != 0 || !(S_ISFIFO(what.st_mode) || isatty(file) == 1)) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  UniqueFd opened(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  // Larger pipes need fewer context switches. Best effort.
  if (opened && S_ISFIFO(what.st_mode)) fcntl(opened.get(), F_SETPIPE_SZ, kPipeBytes);
  return opened;
}

}  // namespace

void AppendPretty(std::string_view json, TextBuffer& text) {
  std::size_t depth = 0;
  std::size_t at = 0;
  while (at < json.size()) {
    const char byte = json[at];
    std::size_t end = at + 1;
    if (byte == '"') {
      end = EndOfString(json, at);
      text.Append(json.substr(at, end - at));
    } else if (byte == '{' || byte == '[') {
      text.Append(json.substr(at, 1));
      NewLine(++depth, text);
    } else if (byte == '}' || byte == ']') {
      NewLine(--depth, text);
      text.Append(json.substr(at, 1));
    } else {
      text.Append(json.substr(at, 1));
      if (byte == ',') NewLine(depth, text);
      if (byte == ':') text.Append(" ");
    }
    at = end;
  }
}

PipeSink::PipeSink(int file, JsonStyle style, Stop& stop)
    : file_(file), without_blocking_(WithoutBlocking(file)), style_(style), stop_(stop) {}

// Writes text_. Returns the number of bytes written: all of it, or whole lines after a stop
// request.
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
    if (error != EAGAIN) return SetError(error);
    if (!stopping && stop_.Requested()) {
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

std::unexpected<Error> PipeSink::SetError(int error) {
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
      if (style_ == JsonStyle::kPretty) {
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
    acknowledged_ += whole;
    if (whole < ends_.size()) break;
  }
  return sent;
}

}  // namespace reveza::fraudgen
