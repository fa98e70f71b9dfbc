// Replaces the client by a recorder, and exports what the tests of the resolver ask for.
#include <atomic>
#include <cstring>

#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/resolver.h"
#include "reveza/gpu/interpose/testing/notes.h"

namespace reveza::interpose {

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

void KeepContexts() {}

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
