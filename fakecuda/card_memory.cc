// Card: memory.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "card.h"
#include "card_lock.h"

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
    if (bytes > state_->memory) return false;
    if (state_->used[device] + bytes > state_->memory) Reclaim();
    if (state_->used[device] + bytes > state_->memory) return false;
    AllocationSlot* slot = FreeSlot();
    if (slot == nullptr) return false;
    *slot = AllocationSlot{};
    slot->id = state_->next_id++;
    slot->bytes = bytes;
    slot->device = static_cast<std::uint32_t>(device);
    slot->handle_types = handle_types;
    slot->holders.Add(process_);
    slot->state = AllocationState::kHeld;
    state_->used[device] += bytes;
    state_->peak[device] = std::max(state_->peak[device], state_->used[device]);
    CountAllocated(device, static_cast<std::int64_t>(bytes));
    *info = {slot->id, bytes, device, handle_types};
  }
  if (FillContents(info->id, bytes)) return true;
  std::fprintf(stderr, "fakecuda: cannot write %llu bytes into %s: %s\n",
               static_cast<unsigned long long>(bytes), directory_.c_str(), std::strerror(errno));
  Drop(info->id);
  return false;
}

AllocationSlot* Card::FreeSlot() {
  for (int i = 0; i < state_->allocations_used; ++i) {
    if (state_->allocations[i].state == AllocationState::kFree) return &state_->allocations[i];
  }
  if (state_->allocations_used == kMostAllocations) return nullptr;
  return &state_->allocations[state_->allocations_used++];
}

bool Card::FillContents(std::uint64_t id, std::uint64_t bytes) const {
  const int file = open(ContentsPath(id).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
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
  for (int i = 0; i < state_->allocations_used; ++i) {
    AllocationSlot& slot = state_->allocations[i];
    if (slot.id == id && slot.state != AllocationState::kFree) return &slot;
  }
  return nullptr;
}

bool Card::Hold(std::uint64_t id, AllocationInfo* info) {
  Lock lock(state_);
  AllocationSlot* slot = Find(id);
  if (slot == nullptr || slot->state == AllocationState::kReleasing) return false;
  slot->state = AllocationState::kHeld;
  slot->holders.Add(process_);
  *info = {slot->id, slot->bytes, static_cast<int>(slot->device), slot->handle_types};
  return true;
}

void Card::Drop(std::uint64_t id) {
  Lock lock(state_);
  AllocationSlot* slot = Find(id);
  if (slot == nullptr || !slot->holders.Has(process_)) return;
  slot->holders.Remove(process_);
  CountAllocated(static_cast<int>(slot->device), -static_cast<std::int64_t>(slot->bytes));
  if (slot->holders.Empty()) Abandon(slot);
}

// No process holds it any more.
void Card::Abandon(AllocationSlot* slot) {
  if (ExportInUse(*slot)) {
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
  state_->used[slot->device] -= slot->bytes;
  slot->state = AllocationState::kFree;
}

int Card::OpenContents(std::uint64_t id) const {
  return open(ContentsPath(id).c_str(), O_RDWR | O_CLOEXEC);
}

// Every exported descriptor has a shared flock on the allocation's export file. Such a lock goes
// with the open file, through dup, fork and SCM_RIGHTS, until its last holder closes it.
int Card::Export(std::uint64_t id) {
  Lock lock(state_);
  AllocationSlot* slot = Find(id);
  if (slot == nullptr) return -1;
  const int file = open(ExportPath(id).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
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

void Card::CountAllocated(int device, std::int64_t bytes) {
  ProcessSlot& self = state_->processes[process_];
  self.allocated[device] += static_cast<std::uint64_t>(bytes);
  self.peak[device] =
      std::max(self.peak[device], self.allocated[device] + self.context_bytes[device]);
}

bool Card::AddContextBytes(int device, std::uint64_t bytes) {
  Lock lock(state_);
  if (state_->used[device] + bytes > state_->memory) Reclaim();
  if (state_->used[device] + bytes > state_->memory) return false;
  state_->used[device] += bytes;
  state_->peak[device] = std::max(state_->peak[device], state_->used[device]);
  state_->processes[process_].context_bytes[device] += bytes;
  CountAllocated(device, 0);
  return true;
}

void Card::RemoveContextBytes(int device, std::uint64_t bytes) {
  Lock lock(state_);
  state_->used[device] -= bytes;
  state_->processes[process_].context_bytes[device] -= bytes;
}

}  // namespace fakecuda
