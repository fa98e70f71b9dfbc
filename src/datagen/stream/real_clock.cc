#include "datagen/stream/real_clock.h"

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace reveza::datagen {

std::chrono::nanoseconds RealClock::Now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

void RealClock::WaitUntil(std::chrono::nanoseconds time) {
  constexpr int64_t kSecond = 1'000'000'000;
  if (stop_.Came()) return;
  const int64_t wait = std::max<int64_t>(0, (time - Now()).count());
  const timespec pause = {.tv_sec = wait / kSecond, .tv_nsec = wait % kSecond};
  pollfd come = {.fd = stop_.file(), .events = POLLIN, .revents = 0};
  ppoll(&come, 1, &pause, nullptr);
}

}  // namespace reveza::datagen
