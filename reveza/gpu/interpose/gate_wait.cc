#include "reveza/gpu/interpose/gate_wait.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "reveza/gpu/interpose/client.h"

namespace reveza::interpose {
void PrintNotice(const char* format, ...) {
  const char* quiet = getenv("REVEZA_QUIET");
  if (quiet != nullptr && strcmp(quiet, "1") == 0) return;
  char line[512] = "reveza: ";
  const std::size_t prefix = strlen(line);
  va_list arguments;
  va_start(arguments, format);
  const int wanted = vsnprintf(line + prefix, sizeof(line) - prefix - 1, format, arguments);
  va_end(arguments);
  if (wanted < 0) return;
  std::size_t length = strlen(line);
  line[length++] = '\n';
  // A single write, so that lines of several processes do not interleave.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, length);
}

void WaitNotices::Print(const char* what, const char* unknown) {
  constexpr std::int64_t kIntervalUs = 60'000'000;
  const std::int64_t now = NowMicroseconds();
  if (now < next_us_) return;
  next_us_ = now + kIntervalUs;
  char why[256] = "";
  if (Client* client = Client::Get()) client->CopyWaitReason(why, sizeof(why));
  PrintNotice("waiting for %s for %lld s: %s", what,
              static_cast<long long>((now - began_us_) / 1'000'000),
              why[0] != '\0' ? why : unknown);
}

GateWait::GateWait() {
  if (Client* client = Client::Get()) client->AtClosedGate();
}

timespec GateWait::NextTimeout() const {
  std::int64_t left = notices_.next_us() - NowMicroseconds();
  if (left < 1000) left = 1000;
  return timespec{left / 1'000'000, left % 1'000'000 * 1000};
}

void GateWait::Tick() {
  // The gate may have opened and closed again before this thread woke up.
  if (Client* client = Client::Get()) client->AtClosedGate();
  notices_.Print("the GPU", "another program is using it");
}

}  // namespace reveza::interpose
