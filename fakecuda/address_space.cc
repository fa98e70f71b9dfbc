#include "fakecuda/address_space.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace fakecuda {
namespace {

constexpr std::uint32_t kAllDevices = ~0u;

char* MapUnreadable(void* wanted, std::uint64_t bytes) {
  void* memory = mmap(wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

// Maps an inaccessible range at a multiple of `alignment`.
char* MapAligned(std::uint64_t bytes, std::uint64_t alignment) {
  char* memory = MapUnreadable(nullptr, bytes + alignment);
  if (memory == nullptr) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uint64_t before = (alignment - address % alignment) % alignment;
  if (before > 0) munmap(memory, before);
  if (before < alignment) munmap(memory + before + bytes, alignment - before);
  return memory + before;
}

}  // namespace

const Reservation* AddressSpace::Reserve(std::uint64_t bytes, std::uint64_t alignment,
                                         CUdeviceptr wanted, MemoryKind kind) {
  char* range = nullptr;
  if (wanted != 0 && wanted % alignment == 0) {
    range = MapUnreadable(reinterpret_cast<void*>(wanted), bytes);
    if (range != nullptr && reinterpret_cast<CUdeviceptr>(range) != wanted) {
      munmap(range, bytes);
      range = nullptr;
    }
  }
  if (range == nullptr) range = MapAligned(bytes, alignment);
  if (range == nullptr) return nullptr;
  char* shadow = MapUnreadable(nullptr, bytes);
  if (shadow == nullptr) {
    munmap(range, bytes);
    return nullptr;
  }
  const auto start = reinterpret_cast<CUdeviceptr>(range);
  return &(reservations_[start] = Reservation{start, bytes, shadow, kind});
}

const Reservation* AddressSpace::AddHost(void* memory, std::uint64_t bytes, MemoryKind kind) {
  const auto start = reinterpret_cast<CUdeviceptr>(memory);
  mappings_[start] = Mapping{start, bytes, nullptr, kAllDevices, kAllDevices};
  return &(reservations_[start] = Reservation{start, bytes, static_cast<char*>(memory), kind});
}

void AddressSpace::Remove(CUdeviceptr start) {
  const auto found = reservations_.find(start);
  if (found == reservations_.end()) return;
  const Reservation& gone = found->second;
  if (reinterpret_cast<CUdeviceptr>(gone.shadow) == start) {
    mappings_.erase(start);
  } else {
    munmap(gone.shadow, gone.bytes);
    munmap(reinterpret_cast<void*>(start), gone.bytes);
  }
  reservations_.erase(found);
}

bool AddressSpace::Map(const Reservation& where, CUdeviceptr start,
                       std::shared_ptr<Physical> physical) {
  const int file = physical->card->OpenContents(physical->info.id);
  if (file < 0) return false;
  char* shadow = where.shadow + (start - where.start);
  void* memory =
      mmap(shadow, physical->info.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return false;
  const std::uint64_t bytes = physical->info.bytes;
  mappings_[start] = Mapping{start, bytes, std::move(physical), 0, 0};
  return true;
}

void AddressSpace::UnmapAll(CUdeviceptr start, std::uint64_t bytes) {
  const Reservation* where = FindReservation(start);
  auto at = mappings_.lower_bound(start);
  while (at != mappings_.end() && at->first < start + bytes) {
    if (at->second.physical == nullptr) {
      ++at;
      continue;
    }
    // Make the range inaccessible, so that stale pointers fault.
    const void* hidden =
        mmap(where->shadow + (at->first - where->start), at->second.bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (hidden == MAP_FAILED) std::abort();
    at = mappings_.erase(at);
  }
}

const Reservation* AddressSpace::FindReservation(CUdeviceptr address) const {
  return FindContaining(reservations_, address);
}

Mapping* AddressSpace::FindMapping(CUdeviceptr address) {
  return FindContaining(mappings_, address);
}

bool AddressSpace::CoveredExactly(CUdeviceptr start, std::uint64_t bytes) const {
  CUdeviceptr at = start;
  while (at < start + bytes) {
    const auto found = mappings_.find(at);
    if (found == mappings_.end()) return false;
    at += found->second.bytes;
  }
  return at == start + bytes;
}

bool AddressSpace::Empty(CUdeviceptr start, std::uint64_t bytes) const {
  auto after = mappings_.lower_bound(start);
  if (after != mappings_.end() && after->first < start + bytes) return false;
  if (after == mappings_.begin()) return true;
  --after;
  return after->first + after->second.bytes <= start;
}

char* AddressSpace::Translate(int device, CUdeviceptr start, std::uint64_t bytes,
                              bool write) const {
  const Reservation* where = FindReservation(start);
  if (where == nullptr || bytes > where->start + where->bytes - start) return nullptr;
  CUdeviceptr at = start;
  auto found = mappings_.upper_bound(at);
  if (found == mappings_.begin()) return nullptr;
  --found;
  while (at < start + bytes || at == start) {
    if (found == mappings_.end() || found->first > at) return nullptr;
    const Mapping& mapping = found->second;
    if (at >= mapping.start + mapping.bytes) return nullptr;
    if (((write ? mapping.writable : mapping.readable) >> device & 1) == 0) return nullptr;
    at = mapping.start + mapping.bytes;
    ++found;
  }
  return where->shadow + (start - where->start);
}

std::uint64_t AddressSpace::BytesOnHost(CUdeviceptr start, std::uint64_t bytes) const {
  std::uint64_t sum = 0;
  auto at = mappings_.upper_bound(start);
  if (at != mappings_.begin()) --at;
  for (; at != mappings_.end() && at->first < start + bytes; ++at) {
    const Mapping& mapping = at->second;
    if (mapping.physical == nullptr || !mapping.physical->info.on_host) continue;
    const CUdeviceptr begin = std::max(start, mapping.start);
    const CUdeviceptr end = std::min(start + bytes, mapping.start + mapping.bytes);
    sum += end > begin ? end - begin : 0;
  }
  return sum;
}

}  // namespace fakecuda
