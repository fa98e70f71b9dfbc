// The cuMemAlloc family: each large allocation is a block of its own, small ones share slabs.
#include <algorithm>

#include "reveza/gpu/swap/ledger.h"
#include "reveza/gpu/swap/physical.h"

namespace reveza::swap {
namespace {

CUmemAllocationProp DeviceProperties(int ordinal) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal;
  return properties;
}

Access ReadWrite(int ordinal, Bytes size) {
  Access access;
  access.size = size;
  access.description.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.description.location.id = ordinal;
  access.description.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

std::vector<SmallAllocation>::iterator FindSmallAllocation(Block& slab, Bytes offset) {
  return std::ranges::lower_bound(slab.allocations, offset, {}, &SmallAllocation::offset);
}

}  // namespace

Reply Ledger::AllocateBlock(DeviceMemory& device, Block::Kind kind, CUcontext owner,
                            Bytes requested, Block** out) {
  // Checked before rounding up, which would overflow for sizes close to 2^64.
  if (requested > (device.host_node < 0 ? device.budget : kMaxBlock)) {
    return Failed(CUDA_ERROR_OUT_OF_MEMORY);
  }
  const Bytes size = RoundUp(requested, kGranularity);
  auto block = std::make_unique<Block>();
  block->kind = kind;
  block->size = size;
  block->requested = requested;
  block->properties = DeviceProperties(device.ordinal);
  block->owner = owner;
  block->written = true;
  block->pieces = MakePieces(size);
  const Reply may = Place(device, *block);
  if (may.outcome != Outcome::kDone) return may;
  CUresult result = MakeOnHost(*block);
  if (result != CUDA_SUCCESS) return Failed(result);
  Mapping mapping;
  result = driver_.AddressReserve(&mapping.address, size, kGranularity, 0, 0);
  if (result != CUDA_SUCCESS) {
    ReleasePieces(device, *block);
    return Failed(result);
  }
  mapping.access.push_back(ReadWrite(device.ordinal, size));
  for (const int peer : device.peers) mapping.access.push_back(ReadWrite(peer, size));
  block->mappings.push_back(mapping);
  TakeCredit(device, *block);
  result = MaterialiseAll(*block);
  if (result != CUDA_SUCCESS) {
    ReleasePieces(device, *block);
    driver_.AddressFree(mapping.address, size);
    // Without a daemon the budget is more than the GPU has.
    if (residency_ == Residency::kUnmanaged && device.host_node >= 0) ++device.on_host_next;
    return CreationReply(result);
  }
  addresses_.Add(mapping.address, size, block.get());
  *out = block.get();
  device.blocks.push_back(std::move(block));
  return {};
}

Reply Ledger::AllocateSmall(DeviceMemory& device, const SmallAllocation& allocation,
                            CUdeviceptr* address) {
  SmallAllocation made = allocation;
  made.reserved = RoundUp(made.requested, kSmallUnit);
  Bytes in_slabs = 0;
  for (const auto& block : device.blocks) {
    if (block->kind != Block::Kind::kSlab || block->being_freed) continue;
    // Other processes see the whole slab, and it is pinned.
    if (block->shared != 0) continue;
    in_slabs += block->size;
    const auto offset = block->ranges->Allocate(made.reserved);
    if (!offset) continue;
    made.offset = *offset;
    block->allocations.insert(FindSmallAllocation(*block, *offset), made);
    *address = block->mappings[0].address + *offset;
    return {};
  }
  // Slabs double, so that many small allocations still move in large pieces.
  const Bytes wanted = std::clamp(in_slabs, kGranularity, kPieceSize);
  Block* slab = nullptr;
  Reply reply = AllocateBlock(device, Block::Kind::kSlab, nullptr, wanted, &slab);
  if (reply.outcome == Outcome::kFailed && wanted > kGranularity) {
    reply = AllocateBlock(device, Block::Kind::kSlab, nullptr, kGranularity, &slab);
  }
  if (reply.outcome != Outcome::kDone) return reply;
  slab->ranges = std::make_unique<FreeRanges>(slab->size);
  const auto offset = slab->ranges->Allocate(made.reserved);
  if (!offset)
    return {Outcome::kFailed, CUDA_ERROR_UNKNOWN, 0};  // unreachable: a slab exceeds kSmallLimit
  made.offset = *offset;
  slab->allocations.push_back(made);
  *address = slab->mappings[0].address + *offset;
  return {};
}

Reply Ledger::Allocate(int ordinal, CUcontext owner, Bytes size, CUdeviceptr* address,
                       const void* pool) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr) return Foreign();
  if (size <= kSmallLimit) {
    return AllocateSmall(*device, {.requested = size, .owner = owner, .pool = pool}, address);
  }
  Block* block = nullptr;
  const Reply reply = AllocateBlock(*device, Block::Kind::kAllocation, owner, size, &block);
  if (reply.outcome != Outcome::kDone) return reply;
  block->pool = pool;
  *address = block->mappings[0].address;
  return reply;
}

Reply Ledger::FreeBlock(DeviceMemory& device, Block& block) {
  // Removed first: the lock is released while waiting, and other threads must not find it.
  const CUdeviceptr address = block.mappings[0].address;
  addresses_.Remove(address);
  block.being_freed = true;
  WaitForCopies(block);
  const CUresult result = ReleasePieces(device, block);
  driver_.AddressFree(address, block.size);
  std::erase_if(device.blocks, [&](const auto& one) { return one.get() == &block; });
  return result == CUDA_SUCCESS ? Reply{} : Failed(result);
}

Reply Ledger::FreeSmall(DeviceMemory& device, Block& block, CUdeviceptr address) {
  const Bytes offset = address - block.mappings[0].address;
  const auto small = FindSmallAllocation(block, offset);
  if (small == block.allocations.end() || small->offset != offset) {
    return Failed(CUDA_ERROR_INVALID_VALUE);
  }
  block.ranges->Free(small->offset, small->reserved);
  block.allocations.erase(small);
  return block.ranges->empty() ? FreeBlock(device, block) : Reply{};
}

Reply Ledger::Free(CUdeviceptr address) {
  MutexLock lock(mutex_);
  const AddressMap::Entry* entry = addresses_.Find(address);
  if (entry == nullptr || entry->block->kind == Block::Kind::kHandle) {
    return Foreign();
  }
  Block& block = *entry->block;
  DeviceMemory& device = *DeviceOf(block);
  if (block.kind == Block::Kind::kSlab) return FreeSmall(device, block, address);
  if (entry->address != address) return Failed(CUDA_ERROR_INVALID_VALUE);
  return FreeBlock(device, block);
}

template <typename Condition>
void Ledger::FreeIf(DeviceMemory& device, Condition condition) {
  for (std::size_t i = device.blocks.size(); i-- > 0;) {
    Block& block = *device.blocks[i];
    if (block.being_freed) continue;
    if (block.kind == Block::Kind::kAllocation && condition(block.owner, block.pool)) {
      FreeBlock(device, block);
    } else if (block.kind == Block::Kind::kSlab) {
      std::erase_if(block.allocations, [&](const SmallAllocation& small) {
        if (!condition(small.owner, small.pool)) return false;
        block.ranges->Free(small.offset, small.reserved);
        return true;
      });
      if (block.ranges->empty()) FreeBlock(device, block);
    }
    i = std::min(i, device.blocks.size());  // WaitForCopies releases the lock
  }
}

void Ledger::FreeOwned(CUcontext owner) {
  MutexLock lock(mutex_);
  for (const auto& device : devices_) {
    FreeIf(*device,
           [&](CUcontext one, const void* pool) { return pool == nullptr && one == owner; });
    Bytes freed = 0;
    std::erase_if(device->managed, [&](const ManagedRange& range) {
      freed += range.owner == owner ? range.resident : 0;
      return range.owner == owner;
    });
    if (residency_ != Residency::kUnmanaged) device->spare += freed;
  }
}

void Ledger::FreePooled(int ordinal) {
  MutexLock lock(mutex_);
  if (DeviceMemory* device = Device(ordinal)) {
    FreeIf(*device, [](CUcontext, const void* pool) { return pool != nullptr; });
  }
}

bool Ledger::Retire(CUdeviceptr address) {
  MutexLock lock(mutex_);
  const AddressMap::Entry* entry = addresses_.Find(address);
  if (entry == nullptr) return false;
  Block& block = *entry->block;
  if (block.kind == Block::Kind::kSlab) {
    const auto small = FindSmallAllocation(block, address - entry->address);
    const bool found = small != block.allocations.end() &&
                       small->offset == address - entry->address && small->pool != nullptr &&
                       !small->retired;
    if (found) small->retired = true;
    return found;
  }
  if (entry->address != address || block.pool == nullptr || block.retired) return false;
  block.retired = true;
  block.written = false;
  for (Piece& piece : block.pieces) {
    if (piece.moving) continue;
    piece.on_host = false;
    piece.of_slot.reset();
    piece.slot.Reset();
  }
  return true;
}

void Ledger::Reuse(CUdeviceptr address, Bytes size, const void* pool) {
  MutexLock lock(mutex_);
  const AddressMap::Entry* entry = addresses_.Find(address);
  if (entry == nullptr) return;
  Block& block = *entry->block;
  if (block.kind == Block::Kind::kSlab) {
    const auto small = FindSmallAllocation(block, address - entry->address);
    small->retired = false;
    small->requested = size;
    small->pool = pool;
    return;
  }
  block.retired = false;
  block.written = true;
  block.requested = size;
  block.pool = pool;
}

bool Ledger::Find(CUdeviceptr address, AddressInfo* info) const {
  MutexLock lock(mutex_);
  return FindLocked(address, info);
}

bool Ledger::FindLocked(CUdeviceptr address, AddressInfo* info) const {
  const AddressMap::Entry* entry = addresses_.Find(address);
  if (entry == nullptr) return false;
  Block& block = *entry->block;
  *info = AddressInfo{};
  info->base = entry->address;
  info->size = block.kind == Block::Kind::kAllocation ? block.requested : entry->size;
  info->device = block.properties.location.id;
  info->reserved = block.size;
  info->owner = block.owner;
  info->pool = block.pool;
  info->kind = block.kind;
  info->properties = block.properties;
  if (block.kind == Block::Kind::kSlab) {
    const Bytes offset = address - entry->address;
    auto small = FindSmallAllocation(block, offset + 1);
    if (small == block.allocations.begin()) return false;
    --small;
    if (offset >= small->offset + small->reserved) return false;
    info->base = entry->address + small->offset;
    info->size = small->requested;
    info->reserved = small->reserved;
    info->owner = small->owner;
    info->pool = small->pool;
    if (small->retired) return false;
  } else if (block.kind == Block::Kind::kAllocation &&
             (block.retired || address >= info->base + info->size)) {
    return false;
  }
  if (block.kind == Block::Kind::kHandle) {
    if (const AddressMap::Entry* range = reservations_.Find(address)) {
      info->range_base = range->address;
      info->range_size = range->size;
    }
  }
  // Must be unique among live allocations.
  info->buffer_id = info->base;
  return true;
}

std::vector<int> Ledger::DevicesWithAccess(CUdeviceptr address) const {
  MutexLock lock(mutex_);
  const AddressMap::Entry* entry = addresses_.Find(address);
  return entry == nullptr ? std::vector<int>{} : entry->block->DevicesWithAccess();
}

std::vector<int> Ledger::DevicesWithAccessToHandle(CUmemGenericAllocationHandle handle) const {
  MutexLock lock(mutex_);
  const Block* block = FindHandle(handle);
  return block == nullptr ? std::vector<int>{} : block->DevicesWithAccess();
}

bool Ledger::IsMapped(CUdeviceptr address, Bytes size) const {
  MutexLock lock(mutex_);
  return !addresses_.Overlapping(address, size).empty();
}

void Ledger::AddReservation(CUdeviceptr address, Bytes size) {
  MutexLock lock(mutex_);
  reservations_.Add(address, size, nullptr);
}

Bytes Ledger::RemoveReservation(CUdeviceptr address) {
  MutexLock lock(mutex_);
  const AddressMap::Entry* range = reservations_.Find(address);
  if (range == nullptr || range->address != address) return 0;
  const Bytes size = range->size;
  reservations_.Remove(address);
  return size;
}

CUresult Ledger::SetPeer(int ordinal, int peer, bool enabled) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr) return CUDA_SUCCESS;
  std::erase(device->peers, peer);
  if (enabled) device->peers.push_back(peer);
  CUresult first = CUDA_SUCCESS;
  for (const auto& block : device->blocks) {
    if (block->kind == Block::Kind::kHandle) continue;
    Mapping& mapping = block->mappings[0];
    std::erase_if(mapping.access, [&](const Access& access) {
      return access.description.location.id == peer && peer != ordinal;
    });
    Access access = ReadWrite(peer, block->size);
    if (!enabled) access.description.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    mapping.access.push_back(access);
    for (const Piece& piece : block->pieces) {
      if (!piece.mapped) continue;
      const CUresult result =
          driver_.SetAccess(mapping.address + piece.offset, piece.size, &access.description, 1);
      if (result != CUDA_SUCCESS && first == CUDA_SUCCESS) first = result;
    }
  }
  return first;
}

std::vector<int> Ledger::DevicesWithoutPeer(int peer) const {
  MutexLock lock(mutex_);
  std::vector<int> found;
  for (const auto& device : devices_) {
    const bool shared = std::ranges::find(device->peers, peer) != device->peers.end();
    if (device->ordinal != peer && !shared && !device->blocks.empty()) {
      found.push_back(device->ordinal);
    }
  }
  return found;
}

}  // namespace reveza::swap
