// The blocks of one GPU in this process, and the credit that bounds how much of them may be in
// physical memory. Plain state: the ledger locks and decides.
#pragma once

#include <memory>
#include <vector>

#include "base/bytes.h"
#include "swap/block.h"

namespace reveza::swap {

// What a client says of itself to the daemon.
struct Books {
  Bytes resident = 0;  // swappable, physical memory exists or is promised
  Bytes swapped = 0;   // swappable, not in GPU memory
  Bytes pinned = 0;
  Bytes context = 0;
  Bytes spare = 0;  // credit that nothing uses yet
  Bytes Need() const { return resident + swapped + pinned + context; }
};

struct DeviceMemory {
  int ordinal = 0;
  CUcontext context = nullptr;  // of the application; null: none at present
  Bytes budget = 0;             // what the application believes the card to have
  Bytes context_bytes = 0;
  Bytes counted = 0;  // pools, arrays, managed memory: the driver's own, only counted
  Bytes spare = 0;    // credit
  // What may be given virtually while the gate is closed: the daemon has seen to host memory.
  Bytes permitted = 0;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<int> peers;     // other GPUs that were given access to our allocations
  CUstream stream = nullptr;  // for moving; made when first needed
  // The times in a row that it has refused to wait for its stream, and whether that is taken for
  // the end of its context: what is not in it does not come any more, and the program is told by
  // its own calls.
  int refusals = 0;
  bool dead = false;
  CUdeviceptr staging = 0;  // kPieceSize of address space for pieces that are not mapped

  Books Count() const {
    Books books;
    books.pinned = counted;
    books.context = context_bytes;
    books.spare = spare;
    for (const auto& block : blocks) {
      for (const Piece& piece : block->pieces) {
        if (block->pinned) {
          books.pinned += piece.size;
        } else if (piece.credit) {
          books.resident += piece.size;
        } else {
          books.swapped += piece.size;
        }
      }
    }
    return books;
  }
};

}  // namespace reveza::swap
