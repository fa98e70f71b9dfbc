// Swaps a client's memory between GPU and host; device addresses do not change.
//
// Out: pieces are copied to the host arena in sequence on one stream, except those that have not
// changed since they were copied last, or are zeros (fingerprints.h). The physical memory of each
// piece is released as soon as its copy is done, so that another process can allocate it while the
// next piece is being copied. In: as credit arrives, physical memory is created for each piece and
// its contents are copied back. Both directions run at link speed; two processes in a handover keep
// both directions of the link busy.
//
// The GPU must not use the memory meanwhile (gate closed, queue drained).
// Not thread-safe: owned by the agent. It takes the ledger's lock per piece.
#pragma once

#include <cstdint>

#include "reveza/gpu/swap/ledger.h"

namespace reveza::swap {

enum class EvictFailure { kNone, kHostMemory, kDriver };

struct EvictResult {
  Bytes freed = 0;      // credit released, unused credit included
  Bytes copied = 0;     // bytes copied over the link
  Bytes unchanged = 0;  // released without a copy, because the host copy is the same, or zeros
  EvictFailure failure = EvictFailure::kNone;
};

enum class SwapInState {
  kDone,        // all memory is resident
  kNeedCredit,  // call again when more credit arrives
  kRetry,       // the driver failed, e.g. memory is not released yet: call again shortly
};

class Mover {
 public:
  // Called without the lock whenever credit was released.
  using FreedFunction = void (*)(void* context, int ordinal, Bytes bytes);

  // `verify`: compares what is released without a copy with its host copy, or with zeros, byte by
  // byte, and aborts the program if it differs.
  Mover(const Driver& driver, Ledger& ledger, bool verify = false)
      : driver_(driver), ledger_(ledger), fingerprinter_(driver), verify_(verify) {}

  // Releases at least `bytes` of the device's physical memory, or all that is swappable. The
  // residency must be kOut. Cancels a swap-in in progress.
  EvictResult Evict(int ordinal, Bytes bytes, FreedFunction freed, void* context);

  // Swaps in on all devices as far as the credit allows. Returns kDone after the last copy has
  // finished; on kNeedCredit copies may still be in flight, to keep the link busy until more
  // credit arrives.
  SwapInState SwapInStep();
  // Cancels a swap-in: waits for its copies in flight.
  void CancelSwapIn();
  // Returns the number of bytes copied in since the last call.
  Bytes TakeCopiedIn();
  // Returns the credit, beyond the spare credit, that a complete swap-in needs.
  Bytes MissingCredit(int ordinal) const;

 private:
  struct Moving {
    DeviceMemory* device = nullptr;
    Block* block = nullptr;
    std::size_t index = 0;
    CUevent done = nullptr;  // swap-out only
    Piece& piece() const { return block->pieces[index]; }
  };
  // Maximum copies in flight. Two saturate the link; the rest hides the latency of unmap and
  // release.
  static constexpr std::size_t kWindow = 16;

  bool FindVictim(DeviceMemory& device, Moving* moving) const REQUIRES(ledger_.mutex_);
  // Computes the fingerprints of the next victims, if that of the next one is unknown.
  void UpdateFingerprints(DeviceMemory& device) REQUIRES(ledger_.mutex_);
  // Returns where to read a piece whose fingerprint is yet to be computed; 0 if it is not.
  CUdeviceptr AddressToRead(const Block& block, const Piece& piece) const;
  bool HasFingerprint(const Piece& piece) const { return piece.fingerprint_of == eviction_; }
  bool NeedsCopy(const Piece& piece) const {
    return !HasFingerprint(piece) ||
           (piece.of_slot != piece.fingerprint && !piece.fingerprint.IsOfZeros());
  }
  // Returns false if the contents cannot be read.
  bool Verify(DeviceMemory& device, const Block& block, const Piece& piece)
      REQUIRES(ledger_.mutex_);
  // Allocates host memory for a copy; if there is no more, in place of copies that only save work,
  // because the GPU has the contents too.
  HostSlot AllocateSlot(Bytes size) REQUIRES(ledger_.mutex_);
  EvictFailure ReleaseUncopied(Moving& moving, EvictResult* result) REQUIRES(ledger_.mutex_);
  EvictFailure StartSwapOut(Moving& moving, EvictResult* result, bool* in_flight)
      REQUIRES(ledger_.mutex_);
  EvictFailure FinishSwapOut(Moving& moving, EvictResult* result);
  EvictFailure ReleasePiece(Moving& moving, EvictResult* result) REQUIRES(ledger_.mutex_);
  CUresult SwapInPiece(DeviceMemory& device, Block& block, std::size_t index)
      REQUIRES(ledger_.mutex_);
  SwapInState SwapInDevice(DeviceMemory& device) REQUIRES(ledger_.mutex_);
  // Prefetches one chunk of managed memory to the host. Returns false if there is none to move.
  bool EvictManagedChunk(DeviceMemory& device, EvictResult* result) REQUIRES(ledger_.mutex_);
  SwapInState SwapInManaged(DeviceMemory& device) REQUIRES(ledger_.mutex_);
  bool SynchroniseStream(DeviceMemory& device) REQUIRES(ledger_.mutex_);
  // Wait for the copies in flight. Return whether no further wait is needed.
  bool FinishCopiesIn(DeviceMemory& device) REQUIRES(ledger_.mutex_);
  bool FinishCopiesIn() REQUIRES(ledger_.mutex_);

  const Driver& driver_;
  Ledger& ledger_;
  const Fingerprinter fingerprinter_;
  const bool verify_;
  std::uint32_t eviction_ = 0;        // number of the eviction in progress, or the last one
  bool fingerprints_failed_ = false;  // in this eviction
  std::vector<Moving> incoming_ GUARDED_BY(ledger_.mutex_);
  Bytes copied_in_ = 0;
};

}  // namespace reveza::swap
