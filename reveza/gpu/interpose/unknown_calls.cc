#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "reveza/gpu/interpose/context_guard.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/resolver.h"

// Implemented in assembler: kMaxUnknownCalls thunks of kThunkBytes bytes each. Thunk i saves all
// argument registers, calls reveza_unknown_call(i) and jumps to the address that it returns.
extern "C" {
__attribute__((visibility("hidden"))) extern char reveza_thunks[];
__attribute__((visibility("hidden"))) void* reveza_unknown_call(std::size_t index);
}

namespace reveza::interpose {
namespace {

constexpr std::size_t kThunkBytes = 16;

struct UnknownCall {
  std::atomic<void*> real;  // set last; null while the slot is being filled
  const char* name;
  bool passes;
};

constinit UnknownCall calls[kMaxUnknownCalls] = {};
constinit std::atomic<std::size_t> used = 0;

// Returns the thunk for `real`; null if there is none left.
void* ThunkFor(void* real, const char* name, bool passes) {
  const std::size_t count = std::min(used.load(std::memory_order_relaxed), kMaxUnknownCalls);
  for (std::size_t i = 0; i < count; ++i) {
    if (calls[i].real.load(std::memory_order_acquire) == real) {
      return reveza_thunks + i * kThunkBytes;
    }
  }
  // Two threads that race here get two equivalent thunks.
  const std::size_t index = used.fetch_add(1, std::memory_order_relaxed);
  if (index >= kMaxUnknownCalls) {
    used.store(kMaxUnknownCalls, std::memory_order_relaxed);
    return nullptr;
  }
  const char* copy = strdup(name);
  calls[index].name = copy != nullptr ? copy : "(unnamed call)";
  calls[index].passes = passes;
  calls[index].real.store(real, std::memory_order_release);
  return reveza_thunks + index * kThunkBytes;
}

}  // namespace

void* GateUnknownCall(void* real, const char* name) {
  if (void* thunk = ThunkFor(real, name, false)) return thunk;
  OnUnknownCall(name);
  return real;
}

void* GuardPassedCall(void* real, const char* name) {
  if (void* thunk = ThunkFor(real, name, true)) return thunk;
  KeepContexts();
  return real;
}

}  // namespace reveza::interpose

void* reveza_unknown_call(std::size_t index) {
  using reveza::interpose::calls;
  if (calls[index].passes) {
    reveza::interpose::ContextGuard guard;
    reveza::interpose::KeepContexts();
  } else {
    // Not held during the call: the thunk jumps to it and cannot release the gate afterwards.
    // Swapping is disabled by OnUnknownCall, so the memory stays in place.
    reveza::interpose::GateScope gate;
    reveza::interpose::OnUnknownCall(calls[index].name);
  }
  return calls[index].real.load(std::memory_order_acquire);
}
