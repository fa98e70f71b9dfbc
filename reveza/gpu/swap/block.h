// The ledger's records of a block of GPU memory and of a GPU. Plain state, guarded by the ledger.
//
// A Block backs one cuMemAlloc (one mapping, owned by the ledger), a slab of small cuMemAllocs, or
// a handle created by the application with cuMemCreate (any number of mappings, made by the
// application). It is split into pieces of at most kPieceSize; each piece is one physical handle of
// the driver and is swapped independently.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/base/bytes.h"
#include "reveza/gpu/swap/arena.h"
#include "reveza/gpu/swap/fingerprints.h"
#include "reveza/gpu/swap/free_ranges.h"

namespace reveza::swap {

// 64 MiB gave the fastest handover between two processes on a full card: 0.297 s for 12 + 12 GiB,
// against 0.341 s with 32 MiB and 0.303 s with 256 MiB (H200, PCIe 5).
inline constexpr Bytes kPieceSize = 64 * kMiB;
inline constexpr Bytes kGranularity = 2 * kMiB;
// More is out of memory, whatever the GPU and the host have.
inline constexpr Bytes kMaxBlock = Bytes{1} << 50;
// cudaMalloc aligns to 512 bytes in practice; programs rely on it.
inline constexpr Bytes kSmallUnit = 512;
// Larger allocations get a block of their own; at most half of it is unused.
inline constexpr Bytes kSmallLimit = kMiB;

// What is known of the use of a piece, of a program larger than the card; see placement.h.
struct Use {
  std::optional<Fingerprint> seen;  // at the last look
  std::uint32_t looked = 0;         // round of the last look
  unsigned unchanged = 0;           // looks in a row that saw no change
  bool changed = false;             // between the last two looks
  std::uint32_t exchange = 0;       // number of the last exchange that moved it
  std::uint32_t keep_until = 0;     // round before which it stays where it is
  std::uint32_t backoff = 4;        // by how many rounds, the next time
};

struct Piece {
  Bytes offset = 0;
  Bytes size = 0;
  // The NUMA node of the host whose memory it is, at the same address: then it takes no credit, and
  // is never swapped. -1: memory of the GPU.
  int host_node = -1;
  // Physical memory; 0 if swapped out or not yet created.
  CUmemGenericAllocationHandle handle = 0;
  // The handle is mapped at every mapping of the block.
  bool mapped = false;
  // Counted as resident: physical memory exists or may be created at any time.
  bool credit = false;
  // The host slot holds the valid contents, to be copied in before the piece is used again. Without
  // a slot they are zeros.
  bool on_host = false;
  // A copy in either direction is in flight.
  bool moving = false;
  HostSlot slot;
  // Of the contents of the slot; null: unknown.
  std::optional<Fingerprint> of_slot = std::nullopt;
  // Of the contents on the GPU, during the eviction of this number.
  Fingerprint fingerprint;
  std::uint32_t fingerprint_of = 0;
  Use use;

  bool OnHost() const { return host_node >= 0; }
};

// Access rights set on part of a mapping; later entries override earlier ones.
struct Access {
  Bytes offset = 0;
  Bytes size = 0;
  CUmemAccessDesc description{};
};

struct Mapping {
  CUdeviceptr address = 0;
  std::vector<Access> access;
};

// An allocation inside a slab.
struct SmallAllocation {
  Bytes offset = 0;
  Bytes requested = 0;
  Bytes reserved = 0;  // rounded up
  CUcontext owner = nullptr;
  const void* pool = nullptr;  // as of Block
  bool retired = false;
};

struct Block {
  enum class Kind {
    kAllocation,  // one cuMemAlloc
    kSlab,        // many small cuMemAllocs
    kHandle,      // the application's cuMemCreate
  };
  Kind kind = Kind::kAllocation;
  Bytes size = 0;       // as mapped
  Bytes requested = 0;  // by the application
  CUmemAllocationProp properties{};
  CUcontext owner = nullptr;  // kAllocation: destroying this context frees the block
  // kAllocation: the stream-ordered pool that it belongs to.
  const void* pool = nullptr;
  // kAllocation: the program has freed it, and its pool keeps it; its contents do not matter.
  bool retired = false;
  std::vector<Piece> pieces;
  std::vector<Mapping> mappings;
  // Write access was granted at some time, so the contents must be preserved.
  bool written = false;
  // One physical handle that is never moved (exported, or needed by a call that takes the driver's
  // own handle).
  bool pinned = false;
  // Other processes may map the memory under this number; 0: they may not.
  unsigned long long shared = 0;
  // Number of copies in flight; the block must not be freed until it is 0.
  int copies_in_flight = 0;
  // Being freed; waits for copies_in_flight to become 0.
  bool being_freed = false;

  // kHandle
  CUmemGenericAllocationHandle id = 0;  // virtual handle, as seen by the application
  unsigned references = 0;              // held by the application

  // kSlab
  std::unique_ptr<FreeRanges> ranges;
  std::vector<SmallAllocation> allocations;  // sorted by offset

  Bytes BytesOnHost() const {
    Bytes sum = 0;
    for (const Piece& piece : pieces) sum += piece.OnHost() ? piece.size : 0;
    return sum;
  }

  // Returns the devices that have, or had, access to any part of a mapping.
  std::vector<int> DevicesWithAccess() const {
    std::vector<int> devices;
    for (const Mapping& mapping : mappings) {
      for (const Access& access : mapping.access) {
        const CUmemLocation& location = access.description.location;
        if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) continue;
        if (std::ranges::find(devices, location.id) == devices.end()) {
          devices.push_back(location.id);
        }
      }
    }
    return devices;
  }
};

// Memory of cuMemAllocManaged. The driver maps it and may move its pages; we only prefetch it, from
// its end to the host and back, so that what is on the GPU is its beginning.
struct ManagedRange {
  int ordinal = 0;
  CUdeviceptr address = 0;
  Bytes requested = 0;
  CUcontext owner = nullptr;  // destroying this context frees it
  Bytes resident = 0;         // has credit: on the GPU, or may be at any time
  bool fixed = false;         // never leaves the GPU; resident as a whole

  Bytes size() const { return RoundUp(requested, kGranularity); }
};

// Maps device addresses to blocks. Ranges never overlap; the driver guarantees it.
class AddressMap {
 public:
  struct Entry {
    CUdeviceptr address = 0;
    Bytes size = 0;
    Block* block = nullptr;
  };

  void Add(CUdeviceptr address, Bytes size, Block* block) {
    entries_.insert(std::ranges::lower_bound(entries_, address, {}, &Entry::address),
                    Entry{address, size, block});
  }

  void Remove(CUdeviceptr address) {
    const auto at = std::ranges::lower_bound(entries_, address, {}, &Entry::address);
    if (at != entries_.end() && at->address == address) entries_.erase(at);
  }

  // Returns the range that contains `address`, or null.
  const Entry* Find(CUdeviceptr address) const {
    const auto after = std::ranges::upper_bound(entries_, address, {}, &Entry::address);
    if (after == entries_.begin()) return nullptr;
    const Entry& entry = *std::prev(after);
    return address - entry.address < entry.size ? &entry : nullptr;
  }

  // Returns all ranges that overlap [address, address + size), sorted by address.
  std::vector<Entry> Overlapping(CUdeviceptr address, Bytes size) const {
    std::vector<Entry> found;
    auto at = std::ranges::upper_bound(entries_, address, {}, &Entry::address);
    if (at != entries_.begin() && address - std::prev(at)->address < std::prev(at)->size) --at;
    for (; at != entries_.end() && at->address < address + size; ++at) found.push_back(*at);
    return found;
  }

  std::size_t size() const { return entries_.size(); }

 private:
  std::vector<Entry> entries_;  // by address
};

// Memory accounting of one GPU, as reported to the daemon.
struct MemoryUsage {
  Bytes resident = 0;  // swappable; physical memory exists or is reserved
  Bytes swapped = 0;   // swappable; not in GPU memory
  Bytes pinned = 0;
  Bytes on_host = 0;  // memory of the host at its place; takes none of the GPU
  Bytes context = 0;
  Bytes spare = 0;  // unused credit
  Bytes Need() const { return resident + swapped + pinned + context; }
};

// The blocks of one GPU in this process, and the credit that bounds how much of them may be
// resident.
struct DeviceMemory {
  int ordinal = 0;
  CUcontext context = nullptr;  // of the application; null: none at present
  Bytes budget = 0;             // memory of the GPU as presented to the application
  Bytes context_bytes = 0;
  // The host's NUMA node whose memory backs what the GPU cannot hold; -1: none does.
  int host_node = -1;
  // The next allocations so many are wholly on the host: the daemon, or the driver, has no room.
  unsigned on_host_next = 0;
  Bytes counted = 0;   // of the driver, only counted: pools, arrays
  Bytes spare = 0;     // unused credit
  Bytes promised = 0;  // granted to requests whose threads have not used it yet
  // May be allocated virtually while the gate is closed; the daemon has reserved host memory.
  Bytes permitted = 0;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<ManagedRange> managed;
  std::vector<int> peers;     // other GPUs with access to our allocations
  CUstream stream = nullptr;  // for copies; created on first use
  // Consecutive failed synchronisations of the stream. After too many the context counts as lost
  // (sticky error): nothing more is swapped in, and the program sees the error in its own calls.
  int sync_failures = 0;
  bool context_lost = false;
  FingerprintKernel fingerprint_kernel;
  CUdeviceptr staging = 0;  // kPieceSize of address space, to copy pieces that are not mapped

  MemoryUsage Count() const {
    MemoryUsage usage;
    usage.pinned = counted;
    usage.context = context_bytes;
    usage.spare = spare;
    for (const auto& block : blocks) {
      for (const Piece& piece : block->pieces) {
        // Without a context nothing can be copied out.
        if (piece.OnHost()) {
          usage.on_host += piece.size;
        } else if (block->pinned || (context == nullptr && piece.credit)) {
          usage.pinned += piece.size;
        } else if (piece.credit) {
          usage.resident += piece.size;
        } else {
          usage.swapped += piece.size;
        }
      }
    }
    for (const ManagedRange& range : managed) {
      (range.fixed || context == nullptr ? usage.pinned : usage.resident) += range.resident;
      usage.swapped += range.size() - range.resident;
    }
    return usage;
  }
};

}  // namespace reveza::swap
