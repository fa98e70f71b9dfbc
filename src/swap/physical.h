// Physical memory of one piece: made and mapped, or unmapped and released. All or nothing.
// Thread-safety: the caller holds the ledger's lock.
#pragma once

#include "swap/block.h"
#include "swap/driver.h"

namespace reveza::swap {

// Makes the piece's physical memory if it has none and maps it, with access, at every mapping of
// the block. On failure nothing has changed.
CUresult Materialise(const Driver& driver, const Block& block, Piece& piece);

// Unmaps at every mapping; the memory stays. On failure nothing has changed.
CUresult UnmapEverywhere(const Driver& driver, const Block& block, Piece& piece);

// Unmaps and releases. When unmapping fails the piece is as before. When only the release fails
// the piece keeps its handle (and its contents) unmapped; Materialise maps it again.
CUresult Dematerialise(const Driver& driver, const Block& block, Piece& piece);

// Applies the recorded access of `mapping` to the part that `piece` covers.
CUresult ApplyAccess(const Driver& driver, const Mapping& mapping, const Piece& piece);

// An address at which the block's own device may read and write the whole piece; 0: nowhere.
CUdeviceptr DirectAddress(const Block& block, const Piece& piece);

// Splits `size` bytes into pieces of at most kPieceSize.
std::vector<Piece> MakePieces(Bytes size);

}  // namespace reveza::swap
