#include "reveza/gpu/interpose/interrupts.h"

#include <pthread.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <utility>

#include "common/base/mutex.h"
#include "reveza/gpu/interpose/gate_wait.h"

namespace reveza::interpose {
namespace {

// Distinct handlers that can be wrapped; further ones run without being counted.
constexpr int kMaxHandlers = 8;
using PlainHandler = void (*)(int);
using InfoHandler = void (*)(int, siginfo_t*, void*);

// What the wrappers forward to. Assigned once, before the wrapper is installed.
constinit std::array<std::atomic<PlainHandler>, kMaxHandlers> plain_handlers{};
constinit std::array<std::atomic<InfoHandler>, kMaxHandlers> info_handlers{};
constinit Mutex wrap_mutex;
int waiting_threads GUARDED_BY(wrap_mutex) = 0;
// Of the current wait. A handler that leaves by a jump leaves nothing behind that matters.
constinit thread_local std::atomic<int> interrupts{0};

template <int kIndex>
void CountPlain(int number) {
  interrupts.fetch_add(1, std::memory_order_relaxed);
  plain_handlers[kIndex].load(std::memory_order_relaxed)(number);
}

template <int kIndex>
void CountInfo(int number, siginfo_t* info, void* context) {
  interrupts.fetch_add(1, std::memory_order_relaxed);
  info_handlers[kIndex].load(std::memory_order_relaxed)(number, info, context);
}

template <int... kIndices>
constexpr std::array<PlainHandler, kMaxHandlers> PlainWrappers(
    std::integer_sequence<int, kIndices...>) {
  return {CountPlain<kIndices>...};
}

template <int... kIndices>
constexpr std::array<InfoHandler, kMaxHandlers> InfoWrappers(
    std::integer_sequence<int, kIndices...>) {
  return {CountInfo<kIndices>...};
}

constexpr auto kPlainWrappers = PlainWrappers(std::make_integer_sequence<int, kMaxHandlers>());
constexpr auto kInfoWrappers = InfoWrappers(std::make_integer_sequence<int, kMaxHandlers>());

// Returns the wrapper of `handler`; null if it is a wrapper itself, or if there are too many.
template <typename Handler>
Handler WrapperOf(Handler handler, std::array<std::atomic<Handler>, kMaxHandlers>& handlers,
                  const std::array<Handler, kMaxHandlers>& wrappers) {
  for (const Handler wrapper : wrappers) {
    if (handler == wrapper) return nullptr;
  }
  for (int i = 0; i < kMaxHandlers; ++i) {
    Handler known = handlers[i].load(std::memory_order_relaxed);
    if (known == nullptr) handlers[i].store(known = handler, std::memory_order_relaxed);
    if (known == handler) return wrappers[i];
  }
  return nullptr;
}

// Returns what `wrapper` forwards to; null if it is none.
template <typename Handler>
Handler HandlerOf(Handler wrapper, const std::array<std::atomic<Handler>, kMaxHandlers>& handlers,
                  const std::array<Handler, kMaxHandlers>& wrappers) {
  for (int i = 0; i < kMaxHandlers; ++i) {
    if (wrapper == wrappers[i]) return handlers[i].load(std::memory_order_relaxed);
  }
  return nullptr;
}

// Replaces the program's handler by its wrapper. Returns false if there is nothing to wrap.
bool Wrap(struct sigaction& action) {
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return false;
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    const InfoHandler wrapper =
        WrapperOf<InfoHandler>(action.sa_sigaction, info_handlers, kInfoWrappers);
    if (wrapper != nullptr) action.sa_sigaction = wrapper;
    return wrapper != nullptr;
  }
  const PlainHandler wrapper =
      WrapperOf<PlainHandler>(action.sa_handler, plain_handlers, kPlainWrappers);
  if (wrapper != nullptr) action.sa_handler = wrapper;
  return wrapper != nullptr;
}

// Replaces a wrapper by the program's handler. Returns false if it is none.
bool Unwrap(struct sigaction& action) {
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    const InfoHandler handler =
        HandlerOf<InfoHandler>(action.sa_sigaction, info_handlers, kInfoWrappers);
    if (handler != nullptr) action.sa_sigaction = handler;
    return handler != nullptr;
  }
  const PlainHandler handler =
      HandlerOf<PlainHandler>(action.sa_handler, plain_handlers, kPlainWrappers);
  if (handler != nullptr) action.sa_handler = handler;
  return handler != nullptr;
}

// The C library leaves the bits of a mask that the kernel does not know undefined.
bool SameMask(const sigset_t& one, const sigset_t& other) {
  for (int number = 1; number < NSIG; ++number) {
    if (sigismember(&one, number) != sigismember(&other, number)) return false;
  }
  return true;
}

bool Same(const struct sigaction& one, const struct sigaction& other) {
  return one.sa_flags == other.sa_flags &&
         ((one.sa_flags & SA_SIGINFO) != 0 ? one.sa_sigaction == other.sa_sigaction
                                           : one.sa_handler == other.sa_handler) &&
         SameMask(one.sa_mask, other.sa_mask);
}

// Applies `change` to the action of SIGINT. What another thread installs at the same time stays.
void ChangeAction(bool (*change)(struct sigaction&)) {
  struct sigaction before{};
  if (sigaction(SIGINT, nullptr, &before) != 0) return;
  struct sigaction installed = before;
  if (!change(installed)) return;
  struct sigaction replaced{};
  struct sigaction expected = before;
  while (sigaction(SIGINT, &installed, &replaced) == 0 && !Same(replaced, expected)) {
    expected = installed;
    installed = replaced;
  }
}

}  // namespace

InterruptWatch::InterruptWatch() {
  interrupts.store(0, std::memory_order_relaxed);
  MutexLock lock(wrap_mutex);
  ++waiting_threads;
  ChangeAction(Wrap);
}

InterruptWatch::~InterruptWatch() {
  MutexLock lock(wrap_mutex);
  if (--waiting_threads == 0) ChangeAction(Unwrap);
}

void InterruptWatch::Check() {
  const int count = interrupts.load(std::memory_order_relaxed);
  if (count == reported_) return;
  reported_ = count;
  if (count == 1) {
    PrintNotice(
        "interrupted while waiting for the GPU; press Ctrl-C again to terminate immediately");
    return;
  }
  struct sigaction plain{};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGINT, &plain, nullptr);
  sigset_t only_this;
  sigemptyset(&only_this);
  sigaddset(&only_this, SIGINT);
  raise(SIGINT);
  pthread_sigmask(SIG_UNBLOCK, &only_this, nullptr);
}

void InterruptWatch::ResetAfterFork() { ChangeAction(Unwrap); }

}  // namespace reveza::interpose
