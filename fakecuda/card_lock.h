// The robust lock of the shared state.
#pragma once

#include <cerrno>

#include "card.h"

namespace fakecuda {

class Card::Lock {
 public:
  explicit Lock(CardState* state) : state_(state) {
    // Whoever died with the lock left at worst a total that is not the sum: make it so again.
    if (pthread_mutex_lock(&state->mutex) == EOWNERDEAD) {
      Repair(state);
      pthread_mutex_consistent(&state->mutex);
    }
  }
  ~Lock() { pthread_mutex_unlock(&state_->mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  static void Repair(CardState* state) {
    // What it was about to free when it died is held by nobody.
    for (int i = 0; i < state->allocations_used; ++i) {
      AllocationSlot& slot = state->allocations[i];
      if (slot.state != AllocationState::kHeld || !slot.holders.Empty()) continue;
      slot.state = AllocationState::kReleasing;
      slot.release_at = 0;
    }
    for (int device = 0; device < kMostDevices; ++device) state->used[device] = 0;
    for (int i = 0; i < state->allocations_used; ++i) {
      const AllocationSlot& slot = state->allocations[i];
      if (slot.state != AllocationState::kFree) state->used[slot.device] += slot.bytes;
    }
    for (const ProcessSlot& process : state->processes) {
      if (process.pid == 0) continue;
      for (int device = 0; device < kMostDevices; ++device) {
        state->used[device] += process.context_bytes[device];
      }
    }
  }

  CardState* state_;
};

}  // namespace fakecuda
