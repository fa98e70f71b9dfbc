// Creates and maps the physical memory of one piece, or unmaps and releases it, all or nothing.
// The caller holds the ledger's lock.
#pragma once

#include "reveza/gpu/swap/block.h"
#include "reveza/gpu/swap/driver.h"

namespace reveza::swap {

// Returns the properties of memory of a NUMA node of the host.
CUmemAllocationProp OnNode(int node);

// Creates physical memory with the properties of a block; of the host, if `host_node` is not -1.
CUresult Create(const Driver& driver, const Block& block, int host_node, Bytes size,
                CUmemGenericAllocationHandle* handle);

// Tries whether a device can use memory of the host like its own: makes a little, maps it, and
// releases it again.
CUresult TryHostMemory(const Driver& driver, int device, int node);

// Creates the piece's physical memory if it has none and maps it, with access rights, at every
// mapping of the block. On failure nothing has changed.
CUresult Materialise(const Driver& driver, const Block& block, Piece& piece);

// Unmaps the piece at every mapping; the memory stays. On failure nothing has changed.
CUresult UnmapEverywhere(const Driver& driver, const Block& block, Piece& piece);

// Unmaps and releases the piece. If unmapping fails, nothing has changed. If only the release
// fails, the piece keeps its handle and contents, unmapped; Materialise() maps it again.
CUresult Dematerialise(const Driver& driver, const Block& block, Piece& piece);

// Calls Dematerialise(), and once more if it fails.
CUresult DematerialiseWithRetry(const Driver& driver, const Block& block, Piece& piece);

// Applies the recorded access rights of `mapping` to the range covered by `piece`.
CUresult ApplyAccess(const Driver& driver, const Mapping& mapping, const Piece& piece);

// Returns an address at which the block's device may read and write the whole piece; 0 if none.
CUdeviceptr DirectAddress(const Block& block, const Piece& piece);

// Returns read and write access for the block's own device.
CUmemAccessDesc OwnAccess(const Block& block);

// Splits `size` bytes into pieces of at most kPieceSize.
std::vector<Piece> MakePieces(Bytes size);

// Provides an address for copying a piece: its own, or a private one for the duration of the copy
// if it is not mapped or not writable. The caller waits for the copy before destroying this object.
class Staging {
 public:
  Staging(const Driver& driver, DeviceMemory& device, const Block& block, const Piece& piece)
      : driver_(driver), piece_(piece), address_(DirectAddress(block, piece)) {
    if (address_ != 0) return;
    if (device.staging == 0) {
      result_ = driver_.AddressReserve(&device.staging, kPieceSize, kGranularity, 0, 0);
    }
    if (result_ == CUDA_SUCCESS) {
      result_ = driver_.Map(device.staging, piece.size, 0, piece.handle, 0);
    }
    if (result_ != CUDA_SUCCESS) return;
    mapped_ = true;
    address_ = device.staging;
    const CUmemAccessDesc own = OwnAccess(block);
    result_ = driver_.SetAccess(address_, piece.size, &own, 1);
  }
  ~Staging() {
    if (mapped_) driver_.Unmap(address_, piece_.size);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  CUresult result() const { return result_; }
  CUdeviceptr address() const { return address_; }
  // If true, the copy must finish before the next piece uses the same private address.
  bool is_private() const { return mapped_; }

 private:
  const Driver& driver_;
  const Piece& piece_;
  CUdeviceptr address_;
  CUresult result_ = CUDA_SUCCESS;
  bool mapped_ = false;
};

// Begins to write the contents that a piece has on the host to `address`, which is mapped.
CUresult RestoreContents(const Driver& driver, const Piece& piece, CUdeviceptr address,
                         CUstream stream);

}  // namespace reveza::swap
