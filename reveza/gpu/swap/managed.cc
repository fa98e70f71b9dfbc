// Managed memory: its records in the ledger, and how the mover prefetches it.
#include <algorithm>

#include "reveza/gpu/swap/ledger.h"
#include "reveza/gpu/swap/mover.h"

namespace reveza::swap {
namespace {

// Moves a part of a range to `target`. Waits at once: the driver moves pages with its own processor
// time, not beside our copies.
CUresult Prefetch(const Driver& driver, CUstream stream, const ManagedRange& range, Bytes begin,
                  Bytes end, CUdevice target) {
  const Bytes size = std::min(end, range.requested) - begin;
  const CUresult issued = driver.Prefetch(range.address + begin, size, target, stream);
  return issued == CUDA_SUCCESS ? driver.StreamSynchronize(stream) : issued;
}

}  // namespace

// ---- records ----

Reply Ledger::ReserveManaged(int ordinal, Bytes size) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr) return Foreign();
  // Checked before rounding up, which would overflow for sizes close to 2^64.
  if (size > device->budget) return Failed(CUDA_ERROR_OUT_OF_MEMORY);
  const Bytes rounded = RoundUp(size, kGranularity);
  if (residency_ != Residency::kUnmanaged) {
    if (residency_ != Residency::kIn) return {Outcome::kWait, CUDA_SUCCESS, 0};
    if (device->spare < rounded) {
      return {Outcome::kNeedCredit, CUDA_SUCCESS, rounded - device->spare};
    }
    device->spare -= rounded;
  }
  device->counted += rounded;
  return {};
}

void Ledger::AddManaged(const ManagedRange& range) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(range.ordinal);
  if (device == nullptr) return;
  device->counted -= std::min(device->counted, range.resident);
  device->managed.push_back(range);
}

std::optional<ManagedRange> Ledger::RemoveManaged(CUdeviceptr address) {
  MutexLock lock(mutex_);
  for (const auto& device : devices_) {
    const auto range = std::ranges::find(device->managed, address, &ManagedRange::address);
    if (range == device->managed.end()) continue;
    const ManagedRange removed = *range;
    device->managed.erase(range);
    device->counted += removed.resident;
    return removed;
  }
  return std::nullopt;
}

void Ledger::FixManaged(CUdeviceptr address, Bytes size) {
  MutexLock lock(mutex_);
  for (const auto& device : devices_) {
    for (ManagedRange& range : device->managed) {
      const bool overlaps =
          range.address < address + size && address < range.address + range.requested;
      if (overlaps && range.resident == range.size()) range.fixed = true;
    }
  }
}

Bytes Ledger::ManagedBytes(int ordinal) const {
  MutexLock lock(mutex_);
  const DeviceMemory* device = Device(ordinal);
  Bytes sum = 0;
  if (device != nullptr) {
    for (const ManagedRange& range : device->managed) sum += range.size();
  }
  return sum;
}

// ---- moves ----

bool Mover::EvictManagedChunk(DeviceMemory& device, EvictResult* result) {
  // The newest first, as with blocks.
  const auto range = std::find_if(device.managed.rbegin(), device.managed.rend(),
                                  [](const auto& one) { return !one.fixed && one.resident > 0; });
  if (range == device.managed.rend()) return false;
  const Bytes end = range->resident;
  const Bytes begin = (end - 1) / kPieceSize * kPieceSize;
  if (ledger_.EnsureStream(device) != CUDA_SUCCESS) {
    result->failure = EvictFailure::kDriver;
    return false;
  }
  bool tried = false;
  const CUresult moved = ledger_.arena_.TakeBeside(end - begin, [&] {
    tried = true;
    return Prefetch(driver_, device.stream, *range, begin, end, CU_DEVICE_CPU);
  });
  if (moved != CUDA_SUCCESS) {
    result->failure = tried ? EvictFailure::kDriver : EvictFailure::kHostMemory;
    return false;
  }
  range->resident = begin;
  result->freed += end - begin;
  result->copied += end - begin;
  return true;
}

SwapInState Mover::SwapInManaged(DeviceMemory& device) {
  for (ManagedRange& range : device.managed) {
    while (range.resident < range.size()) {
      const Bytes begin = range.resident;
      const Bytes end = std::min(begin + kPieceSize, range.size());
      if (device.spare < end - begin) return SwapInState::kNeedCredit;
      device.spare -= end - begin;
      range.resident = end;
      if (device.context_lost || device.context == nullptr) continue;
      // If it fails, the GPU fetches the pages when it needs them.
      if (ledger_.EnsureStream(device) == CUDA_SUCCESS &&
          Prefetch(driver_, device.stream, range, begin, end, device.ordinal) == CUDA_SUCCESS) {
        copied_in_ += end - begin;
      }
    }
  }
  return SwapInState::kDone;
}

}  // namespace reveza::swap
