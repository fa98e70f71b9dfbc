#include "reveza/gpu/interpose/gate_wait.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/base/mutex.h"
#include "reveza/gpu/interpose/client.h"

namespace reveza::interpose {
namespace {

// While threads wait at the gate, the program's SIGINT handler is wrapped to count interrupts.
constinit Mutex wrap_mutex;
int waiting_threads GUARDED_BY(wrap_mutex) = 0;
bool wrapped GUARDED_BY(wrap_mutex) = false;
struct sigaction program_action;
std::atomic<int> interrupts{0};

void CountInterrupt(int number, siginfo_t* info, void* context) {
  interrupts.fetch_add(1, std::memory_order_relaxed);
  if ((program_action.sa_flags & SA_SIGINFO) != 0) {
    program_action.sa_sigaction(number, info, context);
  } else {
    program_action.sa_handler(number);
  }
}

bool HasOwnHandler(const struct sigaction& action) {
  if ((action.sa_flags & SA_SIGINFO) != 0) return action.sa_sigaction != nullptr;
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

}  // namespace

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
  MutexLock lock(wrap_mutex);
  if (waiting_threads++ == 0 && sigaction(SIGINT, nullptr, &program_action) == 0 &&
      HasOwnHandler(program_action)) {
    struct sigaction ours = program_action;
    ours.sa_flags |= SA_SIGINFO;
    ours.sa_flags &= ~SA_RESTART;  // so that the sleep at the gate is interrupted
    ours.sa_sigaction = CountInterrupt;
    interrupts.store(0, std::memory_order_relaxed);
    wrapped = sigaction(SIGINT, &ours, nullptr) == 0;
  }
}

GateWait::~GateWait() {
  MutexLock lock(wrap_mutex);
  if (--waiting_threads == 0 && wrapped) {
    struct sigaction now;
    // Restore only if the program has not set another handler meanwhile.
    if (sigaction(SIGINT, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
        now.sa_sigaction == CountInterrupt) {
      sigaction(SIGINT, &program_action, nullptr);
    }
    wrapped = false;
  }
}

timespec GateWait::NextTimeout() const {
  std::int64_t left = notices_.next_us() - NowMicroseconds();
  if (left < 1000) left = 1000;
  return timespec{left / 1'000'000, left % 1'000'000 * 1000};
}

void GateWait::OnInterrupt() {
  const int count = interrupts.load(std::memory_order_relaxed);
  if (count == 1) {
    PrintNotice(
        "interrupted while waiting for the GPU; press Ctrl-C again to terminate immediately");
  } else if (count > 1) {
    struct sigaction plain{};
    plain.sa_handler = SIG_DFL;
    sigaction(SIGINT, &plain, nullptr);
    sigset_t only_this;
    sigemptyset(&only_this);
    sigaddset(&only_this, SIGINT);
    raise(SIGINT);
    pthread_sigmask(SIG_UNBLOCK, &only_this, nullptr);
  }
}

void GateWait::Tick() {
  // The gate may have opened and closed again before this thread woke up.
  if (Client* client = Client::Get()) client->AtClosedGate();
  notices_.Print("the GPU", "another program is using it");
}

}  // namespace reveza::interpose
