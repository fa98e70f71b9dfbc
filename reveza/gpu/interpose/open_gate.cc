// A gate that never closes, and contexts that are always there, instead of gate.cc and
// context_guard.cc: for libreveza_calls.so and for tests of the
// resolver.
#include <atomic>

#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/peer_copies.h"

namespace reveza::interpose::gate_internal {

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

}  // namespace reveza::interpose::gate_internal

namespace reveza::interpose::context_guard_internal {

constinit std::atomic<std::uint32_t> state = kHere;

void EnterSlow(ThreadSlot*) {}

}  // namespace reveza::interpose::context_guard_internal

namespace reveza::interpose {

bool FindCopyContexts(CUdeviceptr, CUdeviceptr, CopyContexts*) { return false; }
bool GiveAccessForCopies() { return false; }

}  // namespace reveza::interpose
