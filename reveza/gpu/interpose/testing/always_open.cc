// Replaces the gate by one that never closes and the client by a recorder, for tests of the
// resolver.
#include <atomic>
#include <cstring>

#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/resolver.h"
#include "reveza/gpu/interpose/testing/notes.h"

namespace reveza::interpose {

namespace gate_internal {

constinit std::atomic<std::uint32_t> state = kOpen;
constinit bool fence_on_entry = false;
constinit thread_local ThreadSlot* slot = nullptr;

namespace {
constinit thread_local ThreadSlot own_slot;
}  // namespace

ThreadSlot* AcquireSlot() {
  slot = &own_slot;
  return slot;
}
bool EnterSlow(ThreadSlot*, CUstream, StreamKind) { return false; }
void AfterBoundedCall(CUstream, StreamKind) {}

}  // namespace gate_internal

namespace testing {
namespace {
constinit thread_local const char* last_hook = "";
}  // namespace

void NoteHook(const char* name) { last_hook = name; }
const char* LastHook() { return last_hook; }

}  // namespace testing

namespace {
char last_unknown_call[64];
}  // namespace

void OnUnknownCall(const char* name) {
  strncpy(last_unknown_call, name, sizeof last_unknown_call - 1);
}

}  // namespace reveza::interpose

#define REVEZA_TEST_EXPORT extern "C" __attribute__((visibility("default")))

// Number of times this thread has passed the gate.
REVEZA_TEST_EXPORT unsigned long revezaTestSubmissions() {
  const auto* slot = reveza::interpose::gate_internal::slot;
  return slot != nullptr ? slot->submissions.load(std::memory_order_relaxed) : 0;
}

REVEZA_TEST_EXPORT const char* revezaTestLastUnknownCall() {
  return reveza::interpose::last_unknown_call;
}
