#include "reveza/gpu/swap/client_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace reveza::swap {
namespace {

constexpr std::int64_t kIntervalUs = 1'000;

}  // namespace

ClientLock::ClientLock(const char* name) {
  const char* socket = getenv("REVEZA_SOCKET");
  char path[512];
  const int length =
      snprintf(path, sizeof(path), "%s.%s", socket == nullptr ? "/tmp/reveza" : socket, name);
  if (length < 0 || length >= static_cast<int>(sizeof(path))) return;
  fd_ = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

ClientLock::~ClientLock() {
  if (fd_ >= 0) close(fd_);
}

bool ClientLock::TryAcquire() {
  if (fd_ < 0) return true;
  struct flock record{};
  record.l_type = F_WRLCK;
  record.l_whence = SEEK_SET;
  return fcntl(fd_, F_SETLK, &record) == 0;
}

bool ClientLock::Acquire(std::int64_t timeout_us) {
  for (std::int64_t waited = 0; !TryAcquire(); waited += kIntervalUs) {
    if (waited >= timeout_us) return false;
    usleep(kIntervalUs);
  }
  return true;
}

void ClientLock::LetOthersPass() { usleep(3 * kIntervalUs); }

}  // namespace reveza::swap
