// The application's own virtual memory management: its handles are ours (virtual), the physical
// memory behind them is in our pieces, made when the handle is first mapped.
#include <algorithm>
#include <cstring>

#include "swap/ledger.h"
#include "swap/physical.h"
#include "swap/staging.h"

namespace reveza::swap {
namespace {

// The driver's handles are small numbers or addresses; ours are told apart by their top bits.
constexpr CUmemGenericAllocationHandle kHandleTag = 0x5256'0000'0000'0000;
constexpr CUmemGenericAllocationHandle kHandleTagMask = 0xffff'0000'0000'0000;

Reply Of(CUresult result) { return result == CUDA_SUCCESS ? Reply{} : Failed(result); }
Reply Foreign() { return {Outcome::kForeign, CUDA_SUCCESS, 0}; }

Mapping* FindMapping(Block& block, CUdeviceptr address) {
  for (Mapping& mapping : block.mappings) {
    if (mapping.address == address) return &mapping;
  }
  return nullptr;
}

bool SameLocation(const CUmemLocation& a, const CUmemLocation& b) {
  return a.type == b.type && a.id == b.id;
}

void Record(Mapping& mapping, Bytes mapping_size, const Access& access) {
  if (access.offset == 0 && access.size == mapping_size) {
    std::erase_if(mapping.access, [&](const Access& old) {
      return SameLocation(old.description.location, access.description.location);
    });
  }
  mapping.access.push_back(access);
}

// Does `call` on what lies between the entries, in [address, address + size): the driver's own, or
// nothing, which it refuses. Before anything is done to ours: a call that fails does nothing.
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
  return at < end ? Of(call(at, end - at)) : Reply{};
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
  const Reply may = MayGrow(*device, size);
  if (may.outcome != Outcome::kDone) return may;
  const CUresult checked = CheckProperties(properties);
  if (checked != CUDA_SUCCESS) return Failed(checked);
  auto block = std::make_unique<Block>();
  block->kind = Block::Kind::kHandle;
  block->size = block->requested = size;
  block->properties = properties;
  block->pieces = MakePieces(size);
  block->id = kHandleTag | next_handle_++;
  block->references = 1;
  TakeCredit(*device, *block);
  *handle = block->id;
  handles_.push_back(block.get());
  device->blocks.push_back(std::move(block));
  return {};
}

// Physical memory is made later, but a program expects a refusal (PyTorch tries fabric handles, and
// others when they are not permitted) when it creates the handle: the driver is asked once for each
// kind, with the smallest memory there is.
CUresult Ledger::CheckProperties(const CUmemAllocationProp& properties) {
  for (const CUmemAllocationProp& known : checked_) {
    if (std::memcmp(&known, &properties, sizeof(known)) == 0) return CUDA_SUCCESS;
  }
  CUmemGenericAllocationHandle probe = 0;
  const CUresult result = driver_.Create(&probe, kGranularity, &properties, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return CUDA_SUCCESS;  // a full card says nothing
  if (result != CUDA_SUCCESS) return result;
  driver_.Release(probe);
  checked_.push_back(properties);
  return CUDA_SUCCESS;
}

void Ledger::ForgetIfUnused(DeviceMemory& device, Block& block) {
  if (block.references > 0 || !block.mappings.empty()) return;
  DropPieces(device, block);
  std::erase(handles_, &block);
  std::erase_if(device.blocks, [&](const auto& one) { return one.get() == &block; });
}

Reply Ledger::ReleaseHandle(CUmemGenericAllocationHandle handle) {
  MutexLock lock(mutex_);
  Block* block = FindHandle(handle);
  if (block == nullptr) return Failed(CUDA_ERROR_INVALID_VALUE);
  WaitIdle(*block);
  --block->references;
  ForgetIfUnused(*DeviceOf(*block), *block);
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

// Physical memory for a block that was just mapped, with its contents if it had been swapped out
// while it was not mapped anywhere.
CUresult Ledger::BringBack(DeviceMemory& device, Block& block) {
  for (Piece& piece : block.pieces) {
    if (!piece.credit) continue;
    CUresult result = Materialise(driver_, block, piece);
    if (result != CUDA_SUCCESS) return result;
    if (!piece.on_host) continue;
    CurrentContext current(driver_, device.context);
    result = EnsureStream(device);
    if (result != CUDA_SUCCESS) return result;
    Staging staging(driver_, device, block, piece);
    result = staging.result();
    if (result == CUDA_SUCCESS) {
      result =
          driver_.CopyToDevice(staging.address(), piece.slot.data(), piece.size, device.stream);
    }
    if (result == CUDA_SUCCESS) result = driver_.StreamSynchronize(device.stream);
    if (result != CUDA_SUCCESS) return result;
    piece.on_host = false;
  }
  return CUDA_SUCCESS;
}

Reply Ledger::MapHandle(CUdeviceptr address, Bytes size, Bytes offset,
                        CUmemGenericAllocationHandle handle, unsigned long long flags) {
  MutexLock lock(mutex_);
  Block* block = FindHandle(handle);
  // The driver's rules: while the memory is out it cannot be asked.
  if (block == nullptr || flags != 0 || size == 0 || (size | offset) % kGranularity != 0 ||
      address % kGranularity != 0) {
    return Failed(CUDA_ERROR_INVALID_VALUE);
  }
  if (offset != 0 || size > block->size) return Failed(CUDA_ERROR_NOT_SUPPORTED);
  WaitIdle(*block);
  if (!addresses_.Within(address, size).empty()) return Failed(CUDA_ERROR_INVALID_VALUE);
  if (size != block->size && !block->pinned) {
    CUmemGenericAllocationHandle real = 0;
    const Reply pinned = PinBlock(*block, &real);
    if (pinned.outcome != Outcome::kDone) return pinned;
  }
  Mapping mapping;
  mapping.address = address;
  if (block->pinned) {
    const CUresult result = driver_.Map(address, size, 0, block->pieces[0].handle, flags);
    if (result != CUDA_SUCCESS) return Failed(result);
  } else {
    for (const Piece& piece : block->pieces) {
      if (!piece.mapped) continue;  // BringBack maps it
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
  const CUresult result = BringBack(*DeviceOf(*block), *block);
  if (result != CUDA_SUCCESS) UnmapOne(*addresses_.Find(address));
  return OfMaking(result);
}

Reply Ledger::UnmapOne(const AddressMap::Entry& entry_in) {
  const AddressMap::Entry entry = entry_in;
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
  ForgetIfUnused(*DeviceOf(block), block);
  return {};
}

Reply Ledger::Unmap(CUdeviceptr address, Bytes size) {
  MutexLock lock(mutex_);
  auto entries = addresses_.Within(address, size);
  if (entries.empty()) return Foreign();
  for (const AddressMap::Entry& entry : entries) {
    const bool whole = entry.address >= address && entry.address + entry.size <= address + size;
    if (!whole || entry.block->kind != Block::Kind::kHandle) {
      return Failed(CUDA_ERROR_INVALID_VALUE);
    }
    WaitIdle(*entry.block);
  }
  entries = addresses_.Within(address, size);
  const Reply others = ForGaps(entries, address, size, driver_.Unmap);
  if (others.outcome != Outcome::kDone) return others;
  for (const AddressMap::Entry& entry : entries) {
    const Reply reply = UnmapOne(entry);
    if (reply.outcome != Outcome::kDone) return reply;
  }
  return {};
}

Reply Ledger::SetAccess(CUdeviceptr address, Bytes size, const CUmemAccessDesc* descriptions,
                        std::size_t count) {
  MutexLock lock(mutex_);
  const auto entries = addresses_.Within(address, size);
  if (entries.empty()) return Foreign();
  // The driver's rules: while the memory is out it cannot be asked, and what is recorded must not
  // be refused later.
  if (size == 0 || size % kGranularity != 0 || address % kGranularity != 0 || count == 0) {
    return Failed(CUDA_ERROR_INVALID_VALUE);
  }
  const Reply others = ForGaps(entries, address, size, [&](CUdeviceptr at, Bytes bytes) {
    return driver_.SetAccess(at, bytes, descriptions, count);
  });
  if (others.outcome != Outcome::kDone) return others;
  for (const AddressMap::Entry& entry : entries) {
    Block& block = *entry.block;
    Mapping& mapping = *FindMapping(block, entry.address);
    const CUdeviceptr begin = std::max(address, entry.address);
    const CUdeviceptr end = std::min(address + size, entry.address + entry.size);
    for (std::size_t i = 0; i < count; ++i) {
      Mapping only;  // just this change, to apply it to what is mapped now
      only.address = entry.address;
      only.access.push_back(Access{begin - entry.address, end - begin, descriptions[i]});
      for (const Piece& piece : block.pieces) {
        if (!piece.mapped && !block.pinned) continue;
        const CUresult result = ApplyAccess(driver_, only, piece);
        if (result != CUDA_SUCCESS) return Failed(result);
      }
      Record(mapping, entry.size, only.access[0]);
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

Reply Ledger::Pin(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle* real) {
  MutexLock lock(mutex_);
  Block* block = FindHandle(handle);
  return block == nullptr ? Failed(CUDA_ERROR_INVALID_VALUE) : PinBlock(*block, real);
}

Reply Ledger::PinAddress(CUdeviceptr address, CUmemGenericAllocationHandle* real) {
  MutexLock lock(mutex_);
  const AddressMap::Entry* entry = addresses_.Find(address);
  return entry == nullptr ? Foreign() : PinBlock(*entry->block, real);
}

Reply Ledger::PinBlock(Block& block, CUmemGenericAllocationHandle* real) {
  if (block.pinned) {
    *real = block.pieces[0].handle;
    return {};
  }
  if (residency_ == Residency::kOut || residency_ == Residency::kSettled) {
    return {Outcome::kWait, CUDA_SUCCESS, 0};
  }
  WaitIdle(block);
  DeviceMemory& device = *DeviceOf(block);
  const bool made = std::ranges::any_of(
      block.pieces, [](const Piece& piece) { return piece.handle != 0 || piece.on_host; });
  // While it is copied it exists twice.
  if (made && residency_ == Residency::kIn && device.spare < block.size) {
    return {Outcome::kNeedCredit, CUDA_SUCCESS, block.size - device.spare};
  }
  CUmemGenericAllocationHandle whole = 0;
  CUresult result = driver_.Create(&whole, block.size, &block.properties, 0);
  if (result == CUDA_SUCCESS && made) {
    result = Migrate(device, block, whole);
    if (result != CUDA_SUCCESS) driver_.Release(whole);
  }
  if (result != CUDA_SUCCESS) return OfMaking(result);
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

// Copies the contents of all pieces into `whole` and puts it in their place at every mapping.
CUresult Ledger::Migrate(DeviceMemory& device, Block& block, CUmemGenericAllocationHandle whole) {
  CurrentContext current(driver_, device.context);
  CUresult result = EnsureStream(device);
  if (result == CUDA_SUCCESS) result = BringBack(device, block);
  if (result != CUDA_SUCCESS) return result;
  CUdeviceptr target = 0;
  result = driver_.AddressReserve(&target, block.size, kGranularity, 0, 0);
  if (result != CUDA_SUCCESS) return result;
  CUmemAccessDesc own{};
  own.location = block.properties.location;
  own.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
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
  return result == CUDA_SUCCESS ? Replace(block, whole) : result;
}

// Puts `whole` in the place of all pieces at every mapping. They are released when it is there:
// until then they are what the block holds.
CUresult Ledger::Replace(Block& block, CUmemGenericAllocationHandle whole) {
  Piece all;
  all.size = block.size;
  all.handle = whole;
  CUresult result = CUDA_SUCCESS;
  for (Piece& piece : block.pieces) {
    if (result == CUDA_SUCCESS) result = UnmapEverywhere(driver_, block, piece);
  }
  if (result == CUDA_SUCCESS) result = Materialise(driver_, block, all);
  if (result != CUDA_SUCCESS) {
    // One that cannot be mapped again now keeps its contents, and is when it is needed.
    for (Piece& piece : block.pieces) {
      if (piece.handle != 0) Materialise(driver_, block, piece);
    }
    return result;
  }
  for (Piece& piece : block.pieces) {
    if (Dematerialise(driver_, block, piece) != CUDA_SUCCESS) Dematerialise(driver_, block, piece);
  }
  return CUDA_SUCCESS;
}

}  // namespace reveza::swap
