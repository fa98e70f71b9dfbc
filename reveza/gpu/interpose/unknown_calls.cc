#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

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
};

constinit UnknownCall calls[kMaxUnknownCalls] = {};
constinit std::atomic<std::size_t> used = 0;

}  // namespace

void* GateUnknownCall(void* real, const char* name) {
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
    OnUnknownCall(name);
    return real;
  }
  const char* copy = strdup(name);
  calls[index].name = copy != nullptr ? copy : "(unnamed call)";
  calls[index].real.store(real, std::memory_order_release);
  return reveza_thunks + index * kThunkBytes;
}

}  // namespace reveza::interpose

void* reveza_unknown_call(std::size_t index) {
  using reveza::interpose::calls;
  {
    // Not held during the call: the thunk jumps to it and cannot release the gate afterwards.
    // Swapping is disabled by OnUnknownCall, so the memory stays in place.
    reveza::interpose::GateScope gate;
    reveza::interpose::OnUnknownCall(calls[index].name);
  }
  return calls[index].real.load(std::memory_order_acquire);
}
