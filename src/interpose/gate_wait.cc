#include "interpose/gate_wait.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpose/client.h"
#include "swap/sync.h"

namespace reveza::interpose {
namespace {

constexpr std::int64_t kFirstLine = 5'000'000;
constexpr std::int64_t kNextLines = 60'000'000;

// While threads wait at the gate a handler of the program's for SIGINT is wrapped, to count.
pthread_mutex_t wrap_mutex = PTHREAD_MUTEX_INITIALIZER;
int waiting_threads = 0;
bool wrapped = false;
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

void BeginWrapping() {
  pthread_mutex_lock(&wrap_mutex);
  if (waiting_threads++ == 0 && sigaction(SIGINT, nullptr, &program_action) == 0 &&
      HasOwnHandler(program_action)) {
    struct sigaction ours = program_action;
    ours.sa_flags |= SA_SIGINFO;
    ours.sa_flags &= ~SA_RESTART;  // or the sleep at the gate would not notice
    ours.sa_sigaction = CountInterrupt;
    interrupts.store(0, std::memory_order_relaxed);
    wrapped = sigaction(SIGINT, &ours, nullptr) == 0;
  }
  pthread_mutex_unlock(&wrap_mutex);
}

void EndWrapping() {
  pthread_mutex_lock(&wrap_mutex);
  if (--waiting_threads == 0 && wrapped) {
    struct sigaction now;
    // Only if nobody has set another handler meanwhile.
    if (sigaction(SIGINT, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
        now.sa_sigaction == CountInterrupt) {
      sigaction(SIGINT, &program_action, nullptr);
    }
    wrapped = false;
  }
  pthread_mutex_unlock(&wrap_mutex);
}

}  // namespace

void Say(const char* format, ...) {
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
  // One write, so that lines of several processes do not mix.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, length);
}

GateWait::GateWait() : began_us_(swap::NowMicroseconds()), next_line_us_(began_us_ + kFirstLine) {
  if (Client* client = Client::Get()) client->AtClosedGate();
  BeginWrapping();
}

GateWait::~GateWait() { EndWrapping(); }

timespec GateWait::NextTimeout() const {
  std::int64_t left = next_line_us_ - swap::NowMicroseconds();
  if (left < 1000) left = 1000;
  return timespec{left / 1'000'000, left % 1'000'000 * 1000};
}

void GateWait::Interrupted() {
  const int count = interrupts.load(std::memory_order_relaxed);
  if (count == 1) {
    Say("interrupted while waiting for the GPU; press Ctrl-C again to end at once");
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
  const std::int64_t now = swap::NowMicroseconds();
  if (now < next_line_us_) return;
  next_line_us_ = now + kNextLines;
  char why[256] = "";
  if (Client* client = Client::Get()) client->CopyWhy(why, sizeof(why));
  Say("waiting for the GPU for %lld s: %s", static_cast<long long>((now - began_us_) / 1'000'000),
      why[0] != '\0' ? why : "another program has it");
}

}  // namespace reveza::interpose
