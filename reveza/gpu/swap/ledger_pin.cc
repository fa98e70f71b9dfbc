// Pinning: consolidates the pieces of a block into one driver handle that is never moved again.
#include <algorithm>

#include "reveza/gpu/swap/ledger.h"
#include "reveza/gpu/swap/physical.h"

namespace reveza::swap {

Reply Ledger::Pin(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle* real,
                  bool idle) {
  MutexLock lock(mutex_);
  Block* block = FindHandle(handle);
  return block == nullptr ? Failed(CUDA_ERROR_INVALID_VALUE) : PinBlock(*block, real, idle);
}

Reply Ledger::PinAddress(CUdeviceptr address, CUmemGenericAllocationHandle* real, bool idle) {
  MutexLock lock(mutex_);
  const AddressMap::Entry* entry = addresses_.Find(address);
  return entry == nullptr ? Foreign() : PinBlock(*entry->block, real, idle);
}

Reply Ledger::Share(CUdeviceptr address, Shared* shared, bool idle) {
  MutexLock lock(mutex_);
  AddressInfo info;
  if (!FindLocked(address, &info)) return Foreign();
  Block& block = *addresses_.Find(address)->block;
  if (block.kind == Block::Kind::kHandle || info.pool != nullptr) {
    return Failed(CUDA_ERROR_INVALID_VALUE);
  }
  if (block.shared == 0) {
    if (block.pinned) return Failed(CUDA_ERROR_NOT_SUPPORTED);  // in a handle without an export
    const CUmemAllocationProp before = block.properties;
    block.properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle real = 0;
    const Reply reply = PinBlock(block, &real, idle, /*anew=*/true);
    if (reply.outcome != Outcome::kDone) {
      block.properties = before;
      return reply;
    }
    block.shared = next_shared_++;
  }
  *shared = {block.shared, block.size, info.base - block.mappings[0].address, info.size};
  return {};
}

CUresult Ledger::ExportShared(const Shared& shared,
                              CUresult (*export_handle)(CUmemGenericAllocationHandle, int*),
                              int* file, Bytes* handle_size) {
  MutexLock lock(mutex_);
  for (const auto& device : devices_) {
    for (const auto& block : device->blocks) {
      if (block->shared != shared.number || shared.number == 0 || block->being_freed) continue;
      AddressInfo info;
      const CUdeviceptr address = block->mappings[0].address + shared.offset;
      if (shared.offset >= block->size || !FindLocked(address, &info) || info.base != address ||
          info.size != shared.size) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      *handle_size = block->size;
      return export_handle(block->pieces[0].handle, file);
    }
  }
  return CUDA_ERROR_INVALID_VALUE;
}

Reply Ledger::PinBlock(Block& block, CUmemGenericAllocationHandle* real, bool idle, bool anew) {
  if (block.pinned) {
    *real = block.pieces[0].handle;
    return {};
  }
  if (residency_ == Residency::kOut || residency_ == Residency::kSettled) {
    return {Outcome::kWait, CUDA_SUCCESS, 0};
  }
  WaitForCopies(block);
  DeviceMemory& device = *DeviceOf(block);
  if (!anew && block.pieces.size() == 1 && block.pieces[0].credit) {  // one handle already
    const CUresult restored = RestorePieces(device, block);
    if (restored != CUDA_SUCCESS) return CreationReply(restored);
    block.pinned = true;
    *real = block.pieces[0].handle;
    return {};
  }
  const bool in_use = !block.mappings.empty() &&
                      std::ranges::any_of(block.pieces, [](const Piece& p) { return p.mapped; });
  if (in_use && !idle) return Failed(CUDA_ERROR_NOT_READY);
  const bool made = std::ranges::any_of(
      block.pieces, [](const Piece& piece) { return piece.handle != 0 || piece.on_host; });
  // The contents exist twice during the copy; afterwards all of them are on the GPU.
  const Bytes from_host = block.BytesOnHost();
  const Bytes wanted = made ? block.size : from_host;
  if (from_host > 0 && device.Count().Need() + from_host > device.budget) {
    return Failed(CUDA_ERROR_OUT_OF_MEMORY);
  }
  if (residency_ == Residency::kIn && device.spare < wanted) {
    return {Outcome::kNeedCredit, CUDA_SUCCESS, wanted - device.spare};
  }
  CUmemGenericAllocationHandle whole = 0;
  CUresult result = driver_.Create(&whole, block.size, &block.properties, 0);
  if (result == CUDA_SUCCESS && made) {
    result = Migrate(device, block, whole);
    if (result != CUDA_SUCCESS) driver_.Release(whole);
  }
  if (result != CUDA_SUCCESS) return CreationReply(result);
  if (residency_ == Residency::kIn) device.spare -= from_host;
  block.pieces = std::vector<Piece>(1);
  Piece& piece = block.pieces[0];
  piece.size = block.size;
  piece.handle = whole;
  piece.credit = true;
  piece.mapped = !block.mappings.empty();
  block.pinned = true;
  *real = whole;
  return {};
}

// Copies the contents of all pieces into `whole` and maps it in their place.
CUresult Ledger::Migrate(DeviceMemory& device, Block& block, CUmemGenericAllocationHandle whole) {
  CurrentContext current(driver_, device.context);
  CUresult result = EnsureStream(device);
  if (result == CUDA_SUCCESS) result = RestorePieces(device, block);
  if (result != CUDA_SUCCESS) return result;
  CUdeviceptr target = 0;
  result = driver_.AddressReserve(&target, block.size, kGranularity, 0, 0);
  if (result != CUDA_SUCCESS) return result;
  const CUmemAccessDesc own = OwnAccess(block);
  result = driver_.Map(target, block.size, 0, whole, 0);
  if (result == CUDA_SUCCESS) {
    result = driver_.SetAccess(target, block.size, &own, 1);
    for (Piece& piece : block.pieces) {
      if (result != CUDA_SUCCESS) break;
      Staging staging(driver_, device, block, piece);
      result = staging.result();
      if (result == CUDA_SUCCESS) {
        result = driver_.CopyOnDevice(target + piece.offset, staging.address(), piece.size,
                                      device.stream);
      }
      const CUresult done = driver_.StreamSynchronize(device.stream);
      if (result == CUDA_SUCCESS) result = done;
    }
    if (driver_.Unmap(target, block.size) != CUDA_SUCCESS) driver_.Unmap(target, block.size);
  }
  driver_.AddressFree(target, block.size);
  return result == CUDA_SUCCESS ? ReplacePieces(block, whole) : result;
}

// Maps `whole` in place of all pieces at every mapping. The pieces are released only once that has
// succeeded.
CUresult Ledger::ReplacePieces(Block& block, CUmemGenericAllocationHandle whole) {
  Piece all;
  all.size = block.size;
  all.handle = whole;
  CUresult result = CUDA_SUCCESS;
  for (Piece& piece : block.pieces) {
    if (result == CUDA_SUCCESS) result = UnmapEverywhere(driver_, block, piece);
  }
  if (result == CUDA_SUCCESS) result = Materialise(driver_, block, all);
  if (result != CUDA_SUCCESS) {
    // A piece that cannot be remapped now keeps its contents and is remapped when needed.
    for (Piece& piece : block.pieces) {
      if (piece.handle != 0) Materialise(driver_, block, piece);
    }
    return result;
  }
  for (Piece& piece : block.pieces) {
    DematerialiseWithRetry(driver_, block, piece);
  }
  return CUDA_SUCCESS;
}

}  // namespace reveza::swap
