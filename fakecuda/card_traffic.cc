// Card: the link, events between processes, counters.
#include <algorithm>
#include <cstring>
#include <ctime>

#include "card.h"
#include "card_lock.h"

namespace fakecuda {

// Each direction is a queue of its own that all processes share: a transfer begins when the one
// before it ends. A thread that wakes late may catch up, or many small pieces would be slower
// than one large one.
void Card::UseLink(int device, Direction direction, std::uint64_t bytes) {
  constexpr std::uint64_t kCatchUp = 2'000'000;
  std::uint64_t end = 0;
  {
    Lock lock(state_);
    const bool out = direction == Direction::kFromDevice;
    ProcessSlot& self = state_->processes[process_];
    (out ? state_->from_device : state_->to_device) += bytes;
    (out ? self.from_device : self.to_device) += bytes;
    if (state_->link <= 0) return;
    std::uint64_t& free_at = state_->link_free_at[device][out ? 1 : 0];
    const std::uint64_t now = NowNanoseconds();
    // A time far ahead is of a machine that has been started anew.
    if (free_at > now + 3'600'000'000'000) free_at = now;
    free_at = std::max(free_at, now - kCatchUp) +
              static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 / state_->link);
    end = free_at;
  }
  const timespec until = {static_cast<time_t>(end / 1'000'000'000),
                          static_cast<long>(end % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

void Card::CountOnDevice(std::uint64_t bytes) {
  __atomic_fetch_add(&state_->on_device, bytes, __ATOMIC_RELAXED);
}

void Card::CountCall(int entry) {
  __atomic_fetch_add(&state_->counters[entry], 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&state_->processes[process_].calls, 1, __ATOMIC_RELAXED);
}

EventSlot* Card::NewSharedEvent() {
  Lock lock(state_);
  for (EventSlot& slot : state_->events) {
    if (slot.id != 0) continue;
    slot = EventSlot{};
    slot.id = state_->next_id++;
    slot.holders.Add(process_);
    return &slot;
  }
  return nullptr;
}

EventSlot* Card::HoldSharedEvent(std::uint64_t id) {
  Lock lock(state_);
  for (EventSlot& slot : state_->events) {
    if (slot.id != id || id == 0) continue;
    slot.holders.Add(process_);
    return &slot;
  }
  return nullptr;
}

void Card::DropSharedEvent(EventSlot* slot) {
  Lock lock(state_);
  slot->holders.Remove(process_);
  if (slot->holders.Empty()) slot->id = 0;
}

std::uint64_t Card::RecordSharedEvent(EventSlot* slot) {
  Lock lock(state_);
  return ++slot->recorded;
}

void Card::CompleteSharedEvent(EventSlot* slot, std::uint64_t generation) {
  Lock lock(state_);
  slot->completed = std::max(slot->completed, generation);
}

bool Card::SharedEventDone(EventSlot* slot, std::uint64_t generation) {
  Lock lock(state_);
  return slot->completed >= generation;
}

std::uint64_t Card::SharedEventRecorded(EventSlot* slot) {
  Lock lock(state_);
  return slot->recorded;
}

void Card::ResetCounters() {
  Lock lock(state_);
  std::memset(state_->counters, 0, sizeof state_->counters);
  state_->to_device = state_->from_device = state_->on_device = 0;
  for (int device = 0; device < kMostDevices; ++device) {
    state_->peak[device] = state_->used[device];
  }
  for (ProcessSlot& process : state_->processes) {
    process.to_device = process.from_device = process.calls = 0;
    for (int device = 0; device < kMostDevices; ++device) {
      process.peak[device] = process.allocated[device] + process.context_bytes[device];
    }
  }
}

}  // namespace fakecuda
