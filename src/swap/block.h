// What the ledger keeps about one piece of an application's GPU memory.
//
// A Block is either memory that we gave for cuMemAlloc (one mapping, ours), a slab of small
// cuMemAllocs, or the memory behind a handle of the application's own cuMemCreate (any number of
// mappings, the application's). Its bytes are held in pieces of at most kPieceSize: each piece is
// one physical handle of the driver, so that it can leave and come back alone.
#pragma once

#include <cuda.h>

#include <memory>
#include <vector>

#include "base/bytes.h"
#include "swap/arena.h"
#include "swap/free_ranges.h"

namespace reveza::swap {

// Pieces of 64 MiB filled a full card fastest in a hand-over between two processes: 0.297 s for
// 12 + 12 GiB, against 0.341 s with 32 MiB and 0.303 s with 256 MiB (H200, PCIe 5).
inline constexpr Bytes kPieceSize = 64 * kMiB;
inline constexpr Bytes kGranularity = 2 * kMiB;

struct Piece {
  Bytes offset = 0;
  Bytes size = 0;
  // Physical memory; 0 when swapped out or never made.
  CUmemGenericAllocationHandle handle = 0;
  // The handle is mapped at every mapping of the block.
  bool mapped = false;
  // Counted as resident: physical memory exists or may be made at any moment.
  bool credit = false;
  // The host slot holds what the piece must hold before anybody may use it again.
  bool on_host = false;
  // A copy, out or in, is in flight.
  bool moving = false;
  HostSlot slot;
};

// Access that was set on a part of a mapping, in the order in which it was set.
struct Access {
  Bytes offset = 0;
  Bytes size = 0;
  CUmemAccessDesc description{};
};

struct Mapping {
  CUdeviceptr address = 0;
  std::vector<Access> access;
};

// A small allocation inside a slab.
struct Small {
  Bytes offset = 0;
  Bytes requested = 0;
  Bytes taken = 0;
  CUcontext owner = nullptr;
};

struct Block {
  enum class Kind {
    kAllocation,  // one cuMemAlloc
    kSlab,        // many small cuMemAllocs
    kHandle,      // the application's cuMemCreate
  };
  Kind kind = Kind::kAllocation;
  Bytes size = 0;       // what is mapped
  Bytes requested = 0;  // what the application asked for
  CUmemAllocationProp properties{};
  CUcontext owner = nullptr;  // kAllocation: the context whose end frees it
  std::vector<Piece> pieces;
  std::vector<Mapping> mappings;
  // Some processor could have written it: its contents matter.
  bool written = false;
  // The whole block is one physical handle that is never moved (exported, or asked for by a call
  // that needs the real one).
  bool pinned = false;
  // Copies in flight: nobody may free it.
  int busy = 0;
  // Freed, as soon as it is not busy any more.
  bool going = false;

  // kHandle
  CUmemGenericAllocationHandle id = 0;  // what the application holds
  unsigned references = 0;              // of the application

  // kSlab
  std::unique_ptr<FreeRanges> ranges;
  std::vector<Small> smalls;  // by offset
};

}  // namespace reveza::swap
