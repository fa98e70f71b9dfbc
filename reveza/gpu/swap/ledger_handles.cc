// Virtual memory management by the application (cuMemCreate, cuMemMap, ...). The application holds
// virtual handles; the physical memory behind them is in pieces, created when a handle is mapped.
#include <algorithm>
#include <cstring>

#include "reveza/gpu/swap/ledger.h"
#include "reveza/gpu/swap/physical.h"

namespace reveza::swap {
namespace {

// Driver handles are small numbers or addresses; the top bits distinguish our virtual handles.
constexpr CUmemGenericAllocationHandle kHandleTag = 0x5256'0000'0000'0000;
constexpr CUmemGenericAllocationHandle kHandleTagMask = 0xffff'0000'0000'0000;

Reply ToReply(CUresult result) { return result == CUDA_SUCCESS ? Reply{} : Failed(result); }

Mapping* FindMapping(Block& block, CUdeviceptr address) {
  const auto found = std::ranges::find(block.mappings, address, &Mapping::address);
  return found == block.mappings.end() ? nullptr : &*found;
}

bool SameLocation(const CUmemLocation& a, const CUmemLocation& b) {
  return a.type == b.type && a.id == b.id;
}

void RecordAccess(Mapping& mapping, Bytes mapping_size, const Access& access) {
  if (access.offset == 0 && access.size == mapping_size) {
    std::erase_if(mapping.access, [&](const Access& old) {
      return SameLocation(old.description.location, access.description.location);
    });
  }
  mapping.access.push_back(access);
}

// Applies `call` to the parts of [address, address + size) not covered by `entries`: mappings of
// the driver, or unmapped gaps, which it rejects. Done before our own entries are modified, so that
// a failing call has no effect.
template <typename Call>
Reply ForGaps(const std::vector<AddressMap::Entry>& entries, CUdeviceptr address, Bytes size,
              Call call) {
  CUdeviceptr at = address;
  const CUdeviceptr end = address + size;
  for (const AddressMap::Entry& entry : entries) {
    const CUresult result = entry.address > at ? call(at, entry.address - at) : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS) return Failed(result);
    at = entry.address + entry.size;
  }
  return at < end ? ToReply(call(at, end - at)) : Reply{};
}

}  // namespace

bool Ledger::IsOurHandle(CUmemGenericAllocationHandle handle) {
  return (handle & kHandleTagMask) == kHandleTag;
}

Block* Ledger::FindHandle(CUmemGenericAllocationHandle handle) const {
  for (Block* block : handles_) {
    if (block->id == handle) return block->references > 0 ? block : nullptr;
  }
  return nullptr;
}

Reply Ledger::CreateHandle(Bytes size, const CUmemAllocationProp& properties,
                           CUmemGenericAllocationHandle* handle) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(properties.location.id);
  if (device == nullptr) return Foreign();
  if (size == 0 || size % kGranularity != 0) return Failed(CUDA_ERROR_INVALID_VALUE);
  if (size > kMaxBlock) return Failed(CUDA_ERROR_OUT_OF_MEMORY);
  auto block = std::make_unique<Block>();
  block->kind = Block::Kind::kHandle;
  block->size = block->requested = size;
  block->properties = properties;
  block->pieces = MakePieces(size);
  const Reply may = Place(*device, *block);
  if (may.outcome != Outcome::kDone) return may;
  CUresult result = CheckProperties(properties);
  if (result == CUDA_SUCCESS) result = MakeOnHost(*block);
  if (result != CUDA_SUCCESS) return Failed(result);
  block->id = kHandleTag | next_handle_++;
  block->references = 1;
  TakeCredit(*device, *block);
  *handle = block->id;
  handles_.push_back(block.get());
  device->blocks.push_back(std::move(block));
  return {};
}

// Physical memory is created later, but programs expect unsupported properties to fail in
// cuMemCreate (PyTorch tries fabric handles first and falls back). Each distinct set of properties
// is therefore tried once with an allocation of minimum size.
CUresult Ledger::CheckProperties(const CUmemAllocationProp& properties) {
  for (const CUmemAllocationProp& known : accepted_properties_) {
    if (std::memcmp(&known, &properties, sizeof(known)) == 0) return CUDA_SUCCESS;
  }
  CUmemGenericAllocationHandle probe = 0;
  const CUresult result = driver_.Create(&probe, kGranularity, &properties, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return CUDA_SUCCESS;  // inconclusive on a full GPU
  if (result != CUDA_SUCCESS) return result;
  driver_.Release(probe);
  accepted_properties_.push_back(properties);
  return CUDA_SUCCESS;
}

void Ledger::RemoveIfUnused(DeviceMemory& device, Block& block) {
  if (block.references > 0 || !block.mappings.empty()) return;
  ReleasePieces(device, block);
  std::erase(handles_, &block);
  std::erase_if(device.blocks, [&](const auto& one) { return one.get() == &block; });
}

Reply Ledger::ReleaseHandle(CUmemGenericAllocationHandle handle) {
  MutexLock lock(mutex_);
  Block* block = FindHandle(handle);
  if (block == nullptr) return Failed(CUDA_ERROR_INVALID_VALUE);
  WaitForCopies(*block);
  --block->references;
  RemoveIfUnused(*DeviceOf(*block), *block);
  return {};
}

Reply Ledger::RetainHandle(CUdeviceptr address, CUmemGenericAllocationHandle* handle) {
  MutexLock lock(mutex_);
  const AddressMap::Entry* entry = addresses_.Find(address);
  if (entry == nullptr) return Foreign();
  if (entry->block->kind != Block::Kind::kHandle) return Failed(CUDA_ERROR_INVALID_VALUE);
  ++entry->block->references;
  *handle = entry->block->id;
  return {};
}

Reply Ledger::HandleProperties(CUmemGenericAllocationHandle handle,
                               CUmemAllocationProp* properties) {
  MutexLock lock(mutex_);
  const Block* block = FindHandle(handle);
  if (block == nullptr) return Failed(CUDA_ERROR_INVALID_VALUE);
  *properties = block->properties;
  return {};
}

// Creates the physical memory of a block that was just mapped, and restores its contents if it was
// swapped out while unmapped.
CUresult Ledger::RestorePieces(DeviceMemory& device, Block& block) {
  for (Piece& piece : block.pieces) {
    if (!piece.credit && !piece.OnHost()) continue;
    CUresult result = Materialise(driver_, block, piece);
    if (result != CUDA_SUCCESS) return result;
    if (!piece.on_host) continue;
    CurrentContext current(driver_, device.context);
    result = EnsureStream(device);
    if (result != CUDA_SUCCESS) return result;
    Staging staging(driver_, device, block, piece);
    result = staging.result();
    if (result == CUDA_SUCCESS) {
      result = RestoreContents(driver_, piece, staging.address(), device.stream);
    }
    if (result == CUDA_SUCCESS) result = driver_.StreamSynchronize(device.stream);
    if (result != CUDA_SUCCESS) return result;
    piece.on_host = false;
  }
  return CUDA_SUCCESS;
}

Reply Ledger::MapHandle(CUdeviceptr address, Bytes size, Bytes offset,
                        CUmemGenericAllocationHandle handle, unsigned long long flags, bool idle) {
  MutexLock lock(mutex_);
  Block* block = FindHandle(handle);
  // The driver's rules, checked here because it cannot be asked while the memory is swapped out.
  if (block == nullptr || flags != 0 || size == 0 || (size | offset) % kGranularity != 0 ||
      address % kGranularity != 0) {
    return Failed(CUDA_ERROR_INVALID_VALUE);
  }
  if (offset != 0 || size > block->size) return Failed(CUDA_ERROR_NOT_SUPPORTED);
  WaitForCopies(*block);
  if (!addresses_.Overlapping(address, size).empty()) return Failed(CUDA_ERROR_INVALID_VALUE);
  if (size != block->size && !block->pinned) {
    CUmemGenericAllocationHandle real = 0;
    const Reply pinned = PinBlock(*block, &real, idle);
    if (pinned.outcome != Outcome::kDone) return pinned;
  }
  Mapping mapping;
  mapping.address = address;
  if (block->pinned) {
    const CUresult result = driver_.Map(address, size, 0, block->pieces[0].handle, flags);
    if (result != CUDA_SUCCESS) return Failed(result);
  } else {
    for (const Piece& piece : block->pieces) {
      if (!piece.mapped) continue;  // mapped by RestorePieces
      const CUresult result = driver_.Map(address + piece.offset, piece.size, 0, piece.handle, 0);
      if (result == CUDA_SUCCESS) continue;
      for (const Piece& done : block->pieces) {
        if (&done == &piece) break;
        if (done.mapped) driver_.Unmap(address + done.offset, done.size);
      }
      return Failed(result);
    }
  }
  block->mappings.push_back(mapping);
  addresses_.Add(address, size, block);
  if (block->pinned) return {};
  const CUresult result = RestorePieces(*DeviceOf(*block), *block);
  if (result != CUDA_SUCCESS) UnmapOne(*addresses_.Find(address));
  return CreationReply(result);
}

Reply Ledger::UnmapOne(AddressMap::Entry entry) {
  Block& block = *entry.block;
  if (block.pinned) {
    const CUresult result = driver_.Unmap(entry.address, entry.size);
    if (result != CUDA_SUCCESS) return Failed(result);
  } else {
    for (const Piece& piece : block.pieces) {
      if (!piece.mapped) continue;
      const CUresult result = driver_.Unmap(entry.address + piece.offset, piece.size);
      if (result != CUDA_SUCCESS) return Failed(result);
    }
  }
  std::erase_if(block.mappings,
                [&](const Mapping& mapping) { return mapping.address == entry.address; });
  addresses_.Remove(entry.address);
  if (block.mappings.empty() && !block.pinned) {
    for (Piece& piece : block.pieces) piece.mapped = false;
  }
  RemoveIfUnused(*DeviceOf(block), block);
  return {};
}

Reply Ledger::Unmap(CUdeviceptr address, Bytes size) {
  MutexLock lock(mutex_);
  auto entries = addresses_.Overlapping(address, size);
  if (entries.empty()) return Foreign();
  for (const AddressMap::Entry& entry : entries) {
    const bool whole = entry.address >= address && entry.address + entry.size <= address + size;
    if (!whole || entry.block->kind != Block::Kind::kHandle) {
      return Failed(CUDA_ERROR_INVALID_VALUE);
    }
    WaitForCopies(*entry.block);
  }
  entries = addresses_.Overlapping(address, size);
  const Reply gaps = ForGaps(entries, address, size, driver_.Unmap);
  if (gaps.outcome != Outcome::kDone) return gaps;
  for (const AddressMap::Entry& entry : entries) {
    const Reply reply = UnmapOne(entry);
    if (reply.outcome != Outcome::kDone) return reply;
  }
  return {};
}

Reply Ledger::SetAccess(CUdeviceptr address, Bytes size, const CUmemAccessDesc* descriptions,
                        std::size_t count) {
  MutexLock lock(mutex_);
  const auto entries = addresses_.Overlapping(address, size);
  if (entries.empty()) return Foreign();
  // The driver's rules, checked here because it cannot be asked while the memory is swapped out,
  // and recorded access must not fail later.
  if (size == 0 || size % kGranularity != 0 || address % kGranularity != 0 || count == 0) {
    return Failed(CUDA_ERROR_INVALID_VALUE);
  }
  const Reply gaps = ForGaps(entries, address, size, [&](CUdeviceptr at, Bytes bytes) {
    return driver_.SetAccess(at, bytes, descriptions, count);
  });
  if (gaps.outcome != Outcome::kDone) return gaps;
  for (const AddressMap::Entry& entry : entries) {
    Block& block = *entry.block;
    Mapping& mapping = *FindMapping(block, entry.address);
    const CUdeviceptr begin = std::max(address, entry.address);
    const CUdeviceptr end = std::min(address + size, entry.address + entry.size);
    for (std::size_t i = 0; i < count; ++i) {
      Mapping change;  // applied to the pieces that are mapped now
      change.address = entry.address;
      change.access.push_back(Access{begin - entry.address, end - begin, descriptions[i]});
      for (const Piece& piece : block.pieces) {
        if (!piece.mapped && !block.pinned) continue;
        const CUresult result = ApplyAccess(driver_, change, piece);
        if (result != CUDA_SUCCESS) return Failed(result);
      }
      RecordAccess(mapping, entry.size, change.access[0]);
      if (descriptions[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) block.written = true;
    }
  }
  return {};
}

Reply Ledger::GetAccess(CUdeviceptr address, const CUmemLocation& location,
                        unsigned long long* flags) {
  MutexLock lock(mutex_);
  const AddressMap::Entry* entry = addresses_.Find(address);
  if (entry == nullptr) return Foreign();
  *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  const Bytes offset = address - entry->address;
  for (const Access& access : FindMapping(*entry->block, entry->address)->access) {
    if (SameLocation(access.description.location, location) && offset >= access.offset &&
        offset - access.offset < access.size) {
      *flags = access.description.flags;
    }
  }
  return {};
}

}  // namespace reveza::swap
