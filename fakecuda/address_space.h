// The device addresses of this process. A reserved address is a host page that nobody can read:
// what it stands for is mapped a second time, at its shadow, where kernels and copies work. So
// memory that is mapped piece by piece is in one piece for them too.
//
// Not safe by itself: every call is made under the lock of State.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "card.h"

namespace fakecuda {

// Physical memory on a card, held by this process as long as the object lives.
struct Physical {
  Physical(Card* from, AllocationInfo what) : card(from), info(what) {}
  ~Physical() { card->Drop(info.id); }
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  Card* const card;
  const AllocationInfo info;
  CUmemAllocationProp properties = {};
  CUmemGenericAllocationHandle handle = 0;
  int handle_references = 0;
};

// Where an address belongs.
enum class MemoryKind { kReserved, kNative, kPool, kImported, kHost, kRegistered, kManaged };

struct Reservation {
  CUdeviceptr start = 0;
  std::uint64_t bytes = 0;
  char* shadow = nullptr;
  MemoryKind kind = MemoryKind::kReserved;
};

struct Mapping {
  CUdeviceptr start = 0;
  std::uint64_t bytes = 0;
  std::shared_ptr<Physical> physical;  // null for host memory
  // A bit for each device.
  std::uint32_t readable = 0, writable = 0;
};

class AddressSpace {
 public:
  // An unreadable range; null when the host has no room. `wanted` is a hint.
  const Reservation* Reserve(std::uint64_t bytes, std::uint64_t alignment, CUdeviceptr wanted,
                             MemoryKind kind);
  // Host memory, which is its own shadow and that all devices can use.
  const Reservation* AddHost(void* memory, std::uint64_t bytes, MemoryKind kind);
  // Nothing may be mapped in it (but host memory, which stays where it is).
  void Remove(CUdeviceptr start);

  bool Map(const Reservation& where, CUdeviceptr start, std::shared_ptr<Physical> physical);
  void Unmap(CUdeviceptr start);

  const Reservation* FindReservation(CUdeviceptr address) const;
  Mapping* FindMapping(CUdeviceptr address);
  // Do whole mappings cover the range exactly, without a hole?
  bool CoveredExactly(CUdeviceptr start, std::uint64_t bytes) const;
  // Is the range free of mappings?
  bool Empty(CUdeviceptr start, std::uint64_t bytes) const;
  // Calls visit(Mapping&) for each mapping that begins in the range.
  template <typename Visit>
  void ForEach(CUdeviceptr start, std::uint64_t bytes, Visit visit) {
    auto at = mappings_.lower_bound(start);
    while (at != mappings_.end() && at->first < start + bytes) visit((at++)->second);
  }

  // Where a device finds the bytes; null when it may not touch all of them.
  char* Translate(int device, CUdeviceptr start, std::uint64_t bytes, bool write) const;

  std::uint64_t mapping_count() const { return mappings_.size(); }

 private:
  std::map<CUdeviceptr, Reservation> reservations_;
  std::map<CUdeviceptr, Mapping> mappings_;
};

}  // namespace fakecuda
