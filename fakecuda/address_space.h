// Device address space of this process. A reserved address is an inaccessible host page; its
// contents are mapped a second time at the reservation's shadow, where kernels and copies operate.
// Memory mapped in pieces is therefore contiguous for them too.
//
// Not thread-safe; call under the lock of State.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "fakecuda/card.h"

namespace fakecuda {

// Physical memory of a device, held by this process for the lifetime of the object.
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

// Origin of an address range.
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
  // One bit per device.
  std::uint32_t readable = 0, writable = 0;
};

// Returns the value whose `bytes` from its key on contain the address; nullptr if there is none.
template <typename Ranges>
auto* FindContaining(Ranges& ranges, CUdeviceptr address) {
  auto found = ranges.upper_bound(address);
  if (found == ranges.begin()) return static_cast<decltype(&found->second)>(nullptr);
  --found;
  return address - found->first < found->second.bytes ? &found->second : nullptr;
}

class AddressSpace {
 public:
  // Reserves an inaccessible range; nullptr if the host is out of address space. `wanted` is a
  // hint.
  const Reservation* Reserve(std::uint64_t bytes, std::uint64_t alignment, CUdeviceptr wanted,
                             MemoryKind kind);
  // Adds host memory, which is its own shadow and accessible to all devices.
  const Reservation* AddHost(void* memory, std::uint64_t bytes, MemoryKind kind);
  // Removes a reservation. It must not contain mappings, except for host memory.
  void Remove(CUdeviceptr start);

  bool Map(const Reservation& where, CUdeviceptr start, std::shared_ptr<Physical> physical);
  // Removes the mappings that begin in the range, except those of host memory.
  void UnmapAll(CUdeviceptr start, std::uint64_t bytes);

  const Reservation* FindReservation(CUdeviceptr address) const;
  Mapping* FindMapping(CUdeviceptr address);
  // Returns whether complete mappings cover exactly this range.
  bool CoveredExactly(CUdeviceptr start, std::uint64_t bytes) const;
  // Returns whether the range contains no mappings.
  bool Empty(CUdeviceptr start, std::uint64_t bytes) const;
  // Calls visit(Mapping&) for each mapping that begins in the range.
  template <typename Visit>
  void ForEach(CUdeviceptr start, std::uint64_t bytes, Visit visit) {
    auto at = mappings_.lower_bound(start);
    while (at != mappings_.end() && at->first < start + bytes) visit((at++)->second);
  }

  // Returns the host pointer to the bytes; nullptr if the device may not access all of them.
  char* Translate(int device, CUdeviceptr start, std::uint64_t bytes, bool write) const;

  // Returns how much of the range is memory of the host's NUMA node.
  std::uint64_t BytesOnHost(CUdeviceptr start, std::uint64_t bytes) const;

  std::uint64_t mapping_count() const { return mappings_.size(); }

 private:
  std::map<CUdeviceptr, Reservation> reservations_;
  std::map<CUdeviceptr, Mapping> mappings_;
};

}  // namespace fakecuda
