// Moves a client's memory between the GPU and the host, at the same addresses.
//
// Out: pieces are copied to the host arena one after the other on one stream; as soon as a piece
// has been copied its physical memory is released, so that another process can take it while the
// next piece is still on its way. In: for each piece physical memory is made as credit comes, and
// copied into. Both run at link speed; two processes together keep both directions busy.
//
// Nothing on the GPU may use the memory meanwhile (gate closed, queue drained).
// Thread-safety: one thread (the agent) owns a Mover; it takes the ledger's lock per piece.
#pragma once

#include <cstdint>

#include "swap/ledger.h"

namespace reveza::swap {

enum class EvictFailure { kNone, kHostMemory, kDriver };

struct EvictResult {
  Bytes freed = 0;   // credit given back, spare and memory together
  Bytes copied = 0;  // of which went over the link
  EvictFailure failure = EvictFailure::kNone;
};

enum class SwapInState {
  kDone,        // everything is in
  kNeedCredit,  // call again when there is more
  kRetry,       // the driver refused (memory that is released late): call again a little later
};

class Mover {
 public:
  // Called, without the lock, each time that credit has come free.
  using FreedFunction = void (*)(void* context, int ordinal, Bytes bytes);

  Mover(const Driver& driver, Ledger& ledger) : driver_(driver), ledger_(ledger) {}

  // Gives back at least `bytes` of the device's physical memory, or all that can move. The
  // residency must be kOut. Ends a swap-in that is under way.
  EvictResult Evict(int ordinal, Bytes bytes, FreedFunction freed, void* context);

  // One step of bringing everything in on all devices: as far as the credit reaches. kDone after
  // the last copy has ended; on kNeedCredit copies are still in flight, so that the link stays
  // busy between two credits.
  SwapInState SwapInStep();
  // Waits for the copies of a swap-in that is given up.
  void EndSwapIn();
  // Bytes copied in since the last call.
  Bytes TakeCopiedIn();
  // Credit that bringing everything in would need beyond what is spare.
  Bytes MissingCredit(int ordinal) const;

 private:
  struct Moving {
    DeviceMemory* device = nullptr;
    Block* block = nullptr;
    std::size_t index = 0;
    CUevent done = nullptr;  // out only
    Piece& piece() const { return block->pieces[index]; }
  };
  // Copies in flight; the link needs two, the rest hides the driver's time for unmap and release.
  static constexpr std::size_t kWindow = 16;

  bool NextOut(DeviceMemory& device, Moving* moving) const;
  EvictFailure BeginOut(Moving& moving, EvictResult* result, bool* in_flight);
  EvictFailure EndOut(Moving& moving, EvictResult* result);
  EvictFailure ReleaseOut(Moving& moving, EvictResult* result);
  CUresult PieceIn(DeviceMemory& device, Block& block, std::size_t index);
  SwapInState DeviceIn(DeviceMemory& device);
  bool CheckIsAlive(DeviceMemory& device);
  bool FinishCopiesIn(DeviceMemory& device);
  bool FinishCopiesIn();

  const Driver& driver_;
  Ledger& ledger_;
  std::vector<Moving> incoming_;
  Bytes copied_in_ = 0;
};

}  // namespace reveza::swap
