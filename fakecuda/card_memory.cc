// Card: memory, link, interprocess events, counters.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "fakecuda/card.h"

namespace fakecuda {

std::string Card::ContentsPath(std::uint64_t id) const {
  return directory_ + "/memory-" + std::to_string(id);
}

std::string Card::ExportPath(std::uint64_t id) const {
  return directory_ + "/export-" + std::to_string(id);
}

std::uint64_t Card::Used(int device) {
  Lock lock(state_);
  Reclaim();
  return state_->used[device];
}

bool Card::Allocate(int device, std::uint64_t bytes, unsigned handle_types, AllocationInfo* info) {
  {
    Lock lock(state_);
    if (bytes > state_->memory[device]) return false;
    if (state_->used[device] + bytes > state_->memory[device]) Reclaim();
    if (state_->used[device] + bytes > state_->memory[device]) return false;
    AllocationSlot* slot = NewSlot(bytes, handle_types);
    if (slot == nullptr) return false;
    slot->device = static_cast<std::uint32_t>(device);
    state_->used[device] += bytes;
    state_->peak[device] = std::max(state_->peak[device], state_->used[device]);
    CountAllocated(*slot, static_cast<std::int64_t>(bytes));
    *info = Info(*slot);
  }
  return Fill(*info);
}

bool Card::AllocateOnHost(std::uint64_t bytes, unsigned handle_types, AllocationInfo* info) {
  {
    Lock lock(state_);
    const auto full = [&] {
      return state_->host_memory != 0 && state_->host_used + bytes > state_->host_memory;
    };
    if (full()) Reclaim();
    if (full()) return false;
    AllocationSlot* slot = NewSlot(bytes, handle_types);
    if (slot == nullptr) return false;
    slot->on_host = 1;
    state_->host_used += bytes;
    state_->host_peak = std::max(state_->host_peak, state_->host_used);
    CountAllocated(*slot, static_cast<std::int64_t>(bytes));
    *info = Info(*slot);
  }
  return Fill(*info);
}

AllocationSlot* Card::NewSlot(std::uint64_t bytes, unsigned handle_types) {
  AllocationSlot* slot = FreeSlot();
  if (slot == nullptr) return nullptr;
  *slot = AllocationSlot{};
  slot->id = state_->next_id++;
  slot->bytes = bytes;
  slot->handle_types = handle_types;
  slot->holders.Add(process_);
  slot->state = AllocationState::kHeld;
  return slot;
}

AllocationInfo Card::Info(const AllocationSlot& slot) {
  return {slot.id, slot.bytes, static_cast<int>(slot.device), slot.handle_types, slot.on_host != 0};
}

bool Card::Fill(const AllocationInfo& info) {
  if (FillContents(info.id, info.bytes)) return true;
  std::fprintf(stderr, "fakecuda: cannot write %llu bytes to %s: %s\n",
               static_cast<unsigned long long>(info.bytes), directory_.c_str(),
               std::strerror(errno));
  Drop(info.id);
  return false;
}

AllocationSlot* Card::FreeSlot() {
  for (AllocationSlot& slot : state_->Slots()) {
    if (slot.state == AllocationState::kFree) return &slot;
  }
  if (state_->allocations_used == kMaxAllocations) return nullptr;
  return &state_->allocations[state_->allocations_used++];
}

bool Card::FillContents(std::uint64_t id, std::uint64_t bytes) const {
  const int file = OpenOrCreate(ContentsPath(id), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC);
  if (file < 0) return false;
  const std::vector<char> poison(1 << 20, static_cast<char>(0xDB));
  bool good = true;
  for (std::uint64_t at = 0; at < bytes && good;) {
    const std::size_t part = std::min<std::uint64_t>(poison.size(), bytes - at);
    const ssize_t written = pwrite(file, poison.data(), part, static_cast<off_t>(at));
    good = written > 0;
    at += good ? static_cast<std::uint64_t>(written) : 0;
  }
  close(file);
  return good;
}

AllocationSlot* Card::Find(std::uint64_t id) {
  for (AllocationSlot& slot : state_->Slots()) {
    if (slot.id == id && slot.state != AllocationState::kFree) return &slot;
  }
  return nullptr;
}

bool Card::Hold(std::uint64_t id, AllocationInfo* info) {
  Lock lock(state_);
  Reclaim();
  AllocationSlot* slot = Find(id);
  if (slot == nullptr || slot->state == AllocationState::kReleasing) return false;
  slot->state = AllocationState::kHeld;
  slot->holders.Add(process_);
  *info = Info(*slot);
  return true;
}

void Card::Drop(std::uint64_t id) {
  Lock lock(state_);
  AllocationSlot* slot = Find(id);
  if (slot == nullptr || !slot->holders.Has(process_)) return;
  slot->holders.Remove(process_);
  CountAllocated(*slot, -static_cast<std::int64_t>(slot->bytes));
  if (slot->holders.Empty()) ReleaseUnheld(slot);
}

// Handles an allocation without holders: exported, released later, or freed.
void Card::ReleaseUnheld(AllocationSlot* slot) {
  if (slot->state == AllocationState::kAway) {
    Free(slot);
  } else if (ExportInUse(*slot)) {
    slot->state = AllocationState::kExported;
  } else if (late_release_nanoseconds_ > 0) {
    slot->state = AllocationState::kReleasing;
    slot->release_at = NowNanoseconds() + late_release_nanoseconds_;
  } else {
    Free(slot);
  }
}

void Card::Free(AllocationSlot* slot) {
  unlink(ContentsPath(slot->id).c_str());
  if (slot->exported != 0) unlink(ExportPath(slot->id).c_str());
  if (TakesMemory(*slot)) state_->used[slot->device] -= slot->bytes;
  if (slot->on_host != 0) state_->host_used -= slot->bytes;
  slot->state = AllocationState::kFree;
}

int Card::OpenContents(std::uint64_t id) const {
  return open(ContentsPath(id).c_str(), O_RDWR | O_CLOEXEC);
}

// Every exported descriptor holds a shared flock on the allocation's export file. The lock belongs
// to the open file description and survives dup, fork and SCM_RIGHTS until the last copy is closed.
int Card::Export(std::uint64_t id) {
  Lock lock(state_);
  AllocationSlot* slot = Find(id);
  if (slot == nullptr) return -1;
  const int file = OpenOrCreate(ExportPath(id), O_RDWR | O_CREAT | O_CLOEXEC);
  if (file < 0) return -1;
  char text[64];
  const int length =
      std::snprintf(text, sizeof text, "fakecuda %llu\n", static_cast<unsigned long long>(id));
  if (pwrite(file, text, static_cast<std::size_t>(length), 0) != length ||
      flock(file, LOCK_SH) != 0) {
    close(file);
    return -1;
  }
  slot->exported = 1;
  return file;
}

bool Card::ExportInUse(const AllocationSlot& slot) const {
  if (slot.exported == 0) return false;
  const int file = open(ExportPath(slot.id).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  const bool in_use = flock(file, LOCK_EX | LOCK_NB) != 0;
  close(file);
  return in_use;
}

std::uint64_t Card::ImportedId(int descriptor) {
  char text[64] = {};
  if (pread(descriptor, text, sizeof text - 1, 0) <= 0) return 0;
  unsigned long long id = 0;
  return std::sscanf(text, "fakecuda %llu\n", &id) == 1 ? id : 0;
}

void Card::CountAllocated(const AllocationSlot& slot, std::int64_t bytes) {
  if (slot.on_host != 0) {
    state_->processes[process_].on_host += static_cast<std::uint64_t>(bytes);
  } else {
    CountAllocated(static_cast<int>(slot.device), bytes);
  }
}

void Card::CountAllocated(int device, std::int64_t bytes) {
  ProcessSlot& self = state_->processes[process_];
  self.allocated[device] += static_cast<std::uint64_t>(bytes);
  self.peak[device] = std::max(self.peak[device], self.Used(device));
}

bool Card::Take(int device, std::uint64_t bytes, std::uint64_t* account) {
  if (state_->used[device] + bytes > state_->memory[device]) Reclaim();
  if (state_->used[device] + bytes > state_->memory[device]) return false;
  state_->used[device] += bytes;
  state_->peak[device] = std::max(state_->peak[device], state_->used[device]);
  *account += bytes;
  CountAllocated(device, 0);
  return true;
}

bool Card::AddContextBytes(int device, std::uint64_t bytes) {
  Lock lock(state_);
  return Take(device, bytes, &state_->processes[process_].context_bytes[device]);
}

void Card::RemoveContextBytes(int device, std::uint64_t bytes) {
  Lock lock(state_);
  state_->used[device] -= bytes;
  state_->processes[process_].context_bytes[device] -= bytes;
}

bool Card::AddManaged(int device, std::uint64_t bytes) {
  Lock lock(state_);
  return Take(device, bytes, &state_->processes[process_].managed[device]);
}

void Card::RemoveManaged(int device, std::uint64_t bytes) {
  Lock lock(state_);
  state_->used[device] -= bytes;
  state_->processes[process_].managed[device] -= bytes;
}

void Card::CountFaults(std::uint64_t pages) {
  Lock lock(state_);
  state_->processes[process_].faults += pages;
}

bool Card::TakeAway() {
  Lock lock(state_);
  ProcessSlot& self = state_->processes[process_];
  Holders alone{};
  alone.Add(process_);
  for (const AllocationSlot& slot : state_->Slots()) {
    if (slot.state != AllocationState::kHeld || !slot.holders.Has(process_)) continue;
    if (std::memcmp(&slot.holders, &alone, sizeof alone) != 0 || ExportInUse(slot)) return false;
    if (slot.on_host != 0) return false;
  }
  for (AllocationSlot& slot : state_->Slots()) {
    if (slot.state != AllocationState::kHeld || !slot.holders.Has(process_)) continue;
    slot.state = AllocationState::kAway;
    state_->used[slot.device] -= slot.bytes;
    self.allocated[slot.device] -= slot.bytes;
  }
  for (int device = 0; device < kMaxDevices; ++device) {
    state_->used[device] -= self.context_bytes[device];
    self.away_context_bytes[device] = self.context_bytes[device];
    self.context_bytes[device] = 0;
  }
  return true;
}

bool Card::BringBack() {
  Lock lock(state_);
  Reclaim();
  ProcessSlot& self = state_->processes[process_];
  std::uint64_t bytes[kMaxDevices] = {};
  const auto is_own = [&](const AllocationSlot& slot) {
    return slot.state == AllocationState::kAway && slot.holders.Has(process_);
  };
  for (const AllocationSlot& slot : state_->Slots()) {
    if (is_own(slot)) bytes[slot.device] += slot.bytes;
  }
  for (int device = 0; device < state_->devices; ++device) {
    const std::uint64_t wanted = bytes[device] + self.away_context_bytes[device];
    if (state_->used[device] + wanted > state_->memory[device]) return false;
  }
  for (AllocationSlot& slot : state_->Slots()) {
    if (is_own(slot)) slot.state = AllocationState::kHeld;
  }
  for (int device = 0; device < kMaxDevices; ++device) {
    self.context_bytes[device] = self.away_context_bytes[device];
    self.away_context_bytes[device] = 0;
    state_->used[device] += bytes[device] + self.context_bytes[device];
    state_->peak[device] = std::max(state_->peak[device], state_->used[device]);
    CountAllocated(device, static_cast<std::int64_t>(bytes[device]));
  }
  return true;
}

// Each direction is a queue shared by all processes: a transfer starts when the previous one ends.
// A thread that wakes late may catch up, or many small transfers would be slower than one large
// one.
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
    // A time far in the future is from before a reboot.
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
  state_->host_peak = state_->host_used;
  for (int device = 0; device < kMaxDevices; ++device) {
    state_->peak[device] = state_->used[device];
  }
  for (ProcessSlot& process : state_->processes) {
    process.to_device = process.from_device = process.calls = process.faults = 0;
    for (int device = 0; device < kMaxDevices; ++device) {
      process.peak[device] = process.Used(device);
    }
  }
}

}  // namespace fakecuda
