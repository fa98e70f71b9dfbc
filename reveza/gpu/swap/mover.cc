#include "reveza/gpu/swap/mover.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "reveza/gpu/swap/physical.h"

namespace reveza::swap {
namespace {

bool IsSwappedIn(const Block& block, const Piece& piece) {
  if (!piece.credit && !piece.OnHost()) return false;
  if (block.mappings.empty()) return true;  // restored when it is mapped
  return piece.handle != 0 && piece.mapped && !piece.on_host;
}

// Returns whether the piece must be preserved.
bool HasContents(const Block& block, const Piece& piece) {
  return piece.handle != 0 && block.written && !piece.on_host;
}

// Calls visit(block, index) for the pieces that hold credit, in the order of eviction, until it
// returns false: the oldest allocations stay longest.
template <typename Visit>
void ForEachVictim(DeviceMemory& device, Visit visit) {
  for (std::size_t b = device.blocks.size(); b-- > 0;) {
    Block& block = *device.blocks[b];
    if (block.pinned) continue;
    for (std::size_t p = block.pieces.size(); p-- > 0;) {
      if (!block.pieces[p].credit || block.pieces[p].moving) continue;
      if (!visit(block, p)) return;
    }
  }
}

}  // namespace

// ---- out ----

bool Mover::FindVictim(DeviceMemory& device, Moving* moving) const {
  bool found = false;
  ForEachVictim(device, [&](Block& block, std::size_t index) {
    *moving = Moving{&device, &block, index, nullptr};
    found = true;
    return false;
  });
  return found;
}

EvictFailure Mover::ReleasePiece(Moving& moving, EvictResult* result) {
  Piece& piece = moving.piece();
  if (DematerialiseWithRetry(driver_, *moving.block, piece) != CUDA_SUCCESS) {
    return EvictFailure::kDriver;
  }
  piece.credit = false;
  result->freed += piece.size;
  return EvictFailure::kNone;
}

CUdeviceptr Mover::AddressToRead(const Block& block, const Piece& piece) const {
  return HasContents(block, piece) && !HasFingerprint(piece) ? DirectAddress(block, piece) : 0;
}

void Mover::UpdateFingerprints(DeviceMemory& device) {
  Moving next;
  if (fingerprints_failed_ || !FindVictim(device, &next) ||
      AddressToRead(*next.block, next.piece()) == 0) {
    return;
  }
  Piece* pieces[Fingerprinter::kMaxPieces];
  Fingerprinter::Range ranges[Fingerprinter::kMaxPieces];
  std::size_t count = 0;
  ForEachVictim(device, [&](Block& block, std::size_t index) {
    Piece& piece = block.pieces[index];
    if (const CUdeviceptr address = AddressToRead(block, piece)) {
      ranges[count] = {address, piece.size};
      pieces[count++] = &piece;
    }
    return count < Fingerprinter::kMaxPieces;
  });
  Fingerprint fingerprints[Fingerprinter::kMaxPieces];
  fingerprints_failed_ =
      !fingerprinter_.Compute(device.fingerprint_kernel, ranges, count, fingerprints);
  if (fingerprints_failed_) return;
  for (std::size_t i = 0; i < count; ++i) {
    pieces[i]->fingerprint = fingerprints[i];
    pieces[i]->fingerprint_of = eviction_;
  }
}

EvictFailure Mover::ReleaseUncopied(Moving& moving, EvictResult* result) {
  Piece& piece = moving.piece();
  if (verify_ && !Verify(*moving.device, *moving.block, piece)) return EvictFailure::kDriver;
  piece.on_host = true;
  const EvictFailure failure = ReleasePiece(moving, result);
  if (failure != EvictFailure::kNone) {
    piece.on_host = false;
    return failure;
  }
  result->unchanged += piece.size;
  if (piece.fingerprint.IsOfZeros()) {
    piece.slot.Reset();
    piece.of_slot.reset();
  }
  return failure;
}

bool Mover::Verify(DeviceMemory& device, const Block& block, const Piece& piece) {
  const CUdeviceptr address = DirectAddress(block, piece);
  // The second half stays zeros.
  char* copy = static_cast<char*>(
      mmap(nullptr, 2 * piece.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (copy == MAP_FAILED) return false;
  const char* expected = piece.fingerprint.IsOfZeros() ? copy + piece.size : piece.slot.data();
  const bool read = ledger_.EnsureStream(device) == CUDA_SUCCESS &&
                    driver_.CopyToHost(copy, address, piece.size, device.stream) == CUDA_SUCCESS &&
                    driver_.StreamSynchronize(device.stream) == CUDA_SUCCESS;
  if (read && memcmp(copy, expected, piece.size) != 0) {
    static constexpr char kMessage[] = "reveza: GPU memory differs from its host copy\n";
    if (write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1) < 0) _exit(134);
    abort();
  }
  munmap(copy, 2 * piece.size);
  return read;
}

HostSlot Mover::AllocateSlot(Bytes size) {
  HostSlot slot = ledger_.arena_.Allocate(size);
  // The oldest allocations are evicted last: their copies are the least likely to be used soon.
  for (const auto& device : ledger_.devices_) {
    for (const auto& block : device->blocks) {
      for (Piece& piece : block->pieces) {
        if (slot) return slot;
        if (!piece.slot || piece.on_host || piece.moving) continue;
        piece.slot.Reset();
        piece.of_slot.reset();
        slot = ledger_.arena_.AllocateFromPinned(size);
      }
    }
  }
  return slot;
}

EvictFailure Mover::StartSwapOut(Moving& moving, EvictResult* result, bool* in_flight) {
  Piece& piece = moving.piece();
  DeviceMemory& device = *moving.device;
  if (!HasContents(*moving.block, piece)) return ReleasePiece(moving, result);
  if (!NeedsCopy(piece)) return ReleaseUncopied(moving, result);
  if (!piece.slot) piece.slot = AllocateSlot(piece.size);
  if (!piece.slot) return EvictFailure::kHostMemory;
  piece.of_slot.reset();
  if (ledger_.EnsureStream(device) != CUDA_SUCCESS) return EvictFailure::kDriver;
  Staging staging(driver_, device, *moving.block, piece);
  if (staging.result() != CUDA_SUCCESS ||
      driver_.CopyToHost(piece.slot.data(), staging.address(), piece.size, device.stream) !=
          CUDA_SUCCESS) {
    return EvictFailure::kDriver;
  }
  result->copied += piece.size;
  if (!staging.is_private() &&
      driver_.EventCreate(&moving.done, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS) {
    if (driver_.EventRecord(moving.done, device.stream) == CUDA_SUCCESS) {
      piece.moving = true;
      ++moving.block->copies_in_flight;
      *in_flight = true;
      return EvictFailure::kNone;
    }
    driver_.EventDestroy(moving.done);
  }
  if (driver_.StreamSynchronize(device.stream) != CUDA_SUCCESS) return EvictFailure::kDriver;
  if (HasFingerprint(piece)) piece.of_slot = piece.fingerprint;
  piece.on_host = true;
  const EvictFailure failure = ReleasePiece(moving, result);
  if (failure != EvictFailure::kNone) piece.on_host = false;
  return failure;
}

EvictFailure Mover::FinishSwapOut(Moving& moving, EvictResult* result) {
  const bool copied = driver_.EventSynchronize(moving.done) == CUDA_SUCCESS;
  driver_.EventDestroy(moving.done);
  MutexLock lock(ledger_.mutex_);
  Piece& piece = moving.piece();
  piece.moving = false;
  --moving.block->copies_in_flight;
  EvictFailure failure = EvictFailure::kDriver;
  if (copied) {
    if (HasFingerprint(piece)) piece.of_slot = piece.fingerprint;
    piece.on_host = true;
    failure = ReleasePiece(moving, result);
    if (failure != EvictFailure::kNone) piece.on_host = false;
  }
  ledger_.changed_.NotifyAll();
  return failure;
}

EvictResult Mover::Evict(int ordinal, Bytes bytes, FreedFunction freed, void* context) {
  CancelSwapIn();
  ++eviction_;
  fingerprints_failed_ = false;
  EvictResult result;
  result.freed = ledger_.TakeSpare(ordinal, 0);
  Bytes reported = 0;
  const auto report = [&] {
    if (result.freed > reported) freed(context, ordinal, result.freed - reported);
    reported = result.freed;
  };
  report();
  CUcontext device_context = nullptr;
  {
    MutexLock lock(ledger_.mutex_);
    const DeviceMemory* device = ledger_.Device(ordinal);
    if (device != nullptr) device_context = device->context;
  }
  if (device_context == nullptr) {
    if (result.freed < bytes) result.failure = EvictFailure::kDriver;
    return result;
  }
  CurrentContext current(driver_, device_context);
  ledger_.arena_.EnsureRegistered();
  std::vector<Moving> window;  // oldest first
  Bytes begun = 0;             // in flight
  for (;;) {
    while (result.failure == EvictFailure::kNone && window.size() < kWindow &&
           result.freed + begun < bytes) {
      MutexLock lock(ledger_.mutex_);
      Moving moving;
      bool in_flight = false;
      UpdateFingerprints(*ledger_.Device(ordinal));
      if (!FindVictim(*ledger_.Device(ordinal), &moving)) break;
      result.failure = StartSwapOut(moving, &result, &in_flight);
      if (in_flight) {
        begun += moving.piece().size;
        window.push_back(moving);
      }
    }
    report();
    if (window.empty()) break;
    begun -= window.front().piece().size;
    const EvictFailure failure = FinishSwapOut(window.front(), &result);
    if (result.failure == EvictFailure::kNone) result.failure = failure;
    window.erase(window.begin());
    report();
  }
  while (result.failure == EvictFailure::kNone && result.freed < bytes) {
    {
      MutexLock lock(ledger_.mutex_);
      if (!EvictManagedChunk(*ledger_.Device(ordinal), &result)) break;
    }
    report();
  }
  return result;
}

// ---- in ----

CUresult Mover::SwapInPiece(DeviceMemory& device, Block& block, std::size_t index) {
  Piece& piece = block.pieces[index];
  CUresult result = Materialise(driver_, block, piece);
  if (result != CUDA_SUCCESS || !piece.on_host) return result;
  result = ledger_.EnsureStream(device);
  if (result != CUDA_SUCCESS) return result;
  Staging staging(driver_, device, block, piece);
  if (staging.result() != CUDA_SUCCESS) return staging.result();
  result = RestoreContents(driver_, piece, staging.address(), device.stream);
  if (result != CUDA_SUCCESS) return result;
  if (piece.slot) copied_in_ += piece.size;
  if (staging.is_private()) {
    result = driver_.StreamSynchronize(device.stream);
    if (result == CUDA_SUCCESS) piece.on_host = false;
    return result;
  }
  piece.moving = true;
  ++block.copies_in_flight;
  incoming_.push_back(Moving{&device, &block, index, nullptr});
  return CUDA_SUCCESS;
}

SwapInState Mover::SwapInDevice(DeviceMemory& device) {
  // Without a context, memory that has no contents can still be made.
  CurrentContext current(driver_, device.context);
  if (device.context != nullptr) ledger_.arena_.EnsureRegistered();
  for (const auto& block : device.blocks) {
    if (block->pinned) continue;
    for (std::size_t i = 0; i < block->pieces.size(); ++i) {
      Piece& piece = block->pieces[i];
      if (IsSwappedIn(*block, piece) || piece.moving) continue;
      if (!piece.credit && !piece.OnHost()) {
        if (device.spare < piece.size) return SwapInState::kNeedCredit;
        device.spare -= piece.size;
        piece.credit = true;
        if (IsSwappedIn(*block, piece)) continue;
      }
      if (device.context_lost || (device.context == nullptr && piece.on_host)) continue;
      const CUresult result = SwapInPiece(device, *block, i);
      if (result == CUDA_SUCCESS) continue;
      if (result != CUDA_ERROR_OUT_OF_MEMORY) {
        FinishCopiesIn(device);
        SynchroniseStream(device);
      }
      return SwapInState::kRetry;
    }
  }
  return SwapInManaged(device);
}

// Returns whether the copies succeeded. Context errors are sticky: once every call fails, the
// context counts as lost.
bool Mover::SynchroniseStream(DeviceMemory& device) {
  constexpr int kMaxFailures = 50;
  const CUresult result = driver_.StreamSynchronize(device.stream);
  if (result == CUDA_SUCCESS) {
    device.sync_failures = 0;
    return true;
  }
  if (result != CUDA_ERROR_OUT_OF_MEMORY && ++device.sync_failures >= kMaxFailures)
    device.context_lost = true;
  return false;
}

bool Mover::FinishCopiesIn(DeviceMemory& device) {
  CurrentContext current(driver_, device.context);
  bool all = true;
  for (const Moving& moving : incoming_) {
    if (moving.device != &device) continue;
    // After a failed wait the state of later copies is unknown: keep the host copies.
    all = SynchroniseStream(device) && all;
    Piece& piece = moving.piece();
    piece.moving = false;
    if (all) piece.on_host = false;
    --moving.block->copies_in_flight;
  }
  const auto ended =
      std::erase_if(incoming_, [&](const Moving& moving) { return moving.device == &device; });
  if (ended > 0) ledger_.changed_.NotifyAll();
  return all || device.context_lost;
}

bool Mover::FinishCopiesIn() {
  bool all_finished = true;
  for (const auto& device : ledger_.devices_) {
    all_finished = FinishCopiesIn(*device) && all_finished;
  }
  return all_finished;
}

SwapInState Mover::SwapInStep() {
  MutexLock lock(ledger_.mutex_);
  SwapInState state = SwapInState::kDone;
  for (const auto& device : ledger_.devices_) {
    const SwapInState one = SwapInDevice(*device);
    if (one == SwapInState::kRetry || state == SwapInState::kDone) state = one;
  }
  if (state == SwapInState::kDone || ledger_.free_waiters_ > 0) {
    if (!FinishCopiesIn()) state = SwapInState::kRetry;
  }
  if (state == SwapInState::kDone && ledger_.residency_ == Residency::kOut) {
    ledger_.residency_ = Residency::kSettled;
    ledger_.changed_.NotifyAll();
  }
  return state;
}

void Mover::CancelSwapIn() {
  MutexLock lock(ledger_.mutex_);
  FinishCopiesIn();
  if (ledger_.residency_ == Residency::kSettled) {
    ledger_.residency_ = Residency::kOut;
    ledger_.changed_.NotifyAll();
  }
}

Bytes Mover::TakeCopiedIn() { return std::exchange(copied_in_, 0); }

Bytes Mover::MissingCredit(int ordinal) const {
  MutexLock lock(ledger_.mutex_);
  const DeviceMemory* device = ledger_.Device(ordinal);
  if (device == nullptr) return 0;
  const MemoryUsage usage = device->Count();
  return usage.swapped > usage.spare ? usage.swapped - usage.spare : 0;
}

}  // namespace reveza::swap
