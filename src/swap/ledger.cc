#include "swap/ledger.h"

#include <algorithm>

#include "swap/physical.h"

namespace reveza::swap {
namespace {

// cudaMalloc aligns to 512 bytes in practice; programs rely on it.
constexpr Bytes kSmallUnit = 512;
// What is larger gets a block of its own; waste is then at most half.
constexpr Bytes kSmallLimit = kMiB;

Reply Failed(CUresult error) { return {Outcome::kFailed, error, 0}; }

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

std::vector<Small>::iterator FindSmall(Block& slab, Bytes offset) {
  return std::lower_bound(slab.smalls.begin(), slab.smalls.end(), offset,
                          [](const Small& small, Bytes at) { return small.offset < at; });
}

}  // namespace

Ledger::Ledger(const Driver& driver, HostArena& arena) : driver_(driver), arena_(arena) {}

// ---- devices ----

DeviceMemory* Ledger::Device(int ordinal) {
  for (const auto& device : devices_) {
    if (device->ordinal == ordinal) return device.get();
  }
  return nullptr;
}

const DeviceMemory* Ledger::Device(int ordinal) const {
  return const_cast<Ledger*>(this)->Device(ordinal);
}

DeviceMemory* Ledger::DeviceOf(const Block& block) { return Device(block.properties.location.id); }

void Ledger::AddDevice(int ordinal, CUcontext context, Bytes budget, Bytes context_bytes) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr) {
    devices_.push_back(std::make_unique<DeviceMemory>());
    device = devices_.back().get();
    device->ordinal = ordinal;
  }
  device->context = context;
  device->budget = budget;
  device->context_bytes = context_bytes;
}

bool Ledger::HasDevice(int ordinal) const {
  MutexLock lock(mutex_);
  return Device(ordinal) != nullptr;
}

void Ledger::SetContext(int ordinal, CUcontext context) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device != nullptr && device->context == nullptr) device->context = context;
}

void Ledger::ContextEnds(int ordinal, CUcontext context, CUcontext other) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr || device->context != context) return;
  device->stream = nullptr;  // ends with its context
  device->context = other;
  arena_.RegistrationsEnd();
}

void Ledger::SetContextBytes(int ordinal, Bytes bytes) {
  MutexLock lock(mutex_);
  if (DeviceMemory* device = Device(ordinal)) device->context_bytes = bytes;
}

Bytes Ledger::AddCounted(int ordinal, std::int64_t delta) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr) return 0;
  const Bytes magnitude = static_cast<Bytes>(delta < 0 ? -delta : delta);
  if (delta >= 0) {
    device->counted += magnitude;
  } else {
    device->counted -= std::min(device->counted, magnitude);
    if (residency_ != Residency::kUnmanaged) device->spare += magnitude;
  }
  return device->counted;
}

Books Ledger::GetBooks(int ordinal) const {
  MutexLock lock(mutex_);
  const DeviceMemory* device = Device(ordinal);
  return device == nullptr ? Books{} : device->Count();
}

Bytes Ledger::Budget(int ordinal) const {
  MutexLock lock(mutex_);
  const DeviceMemory* device = Device(ordinal);
  return device == nullptr ? 0 : device->budget;
}

// ---- credit and residency ----

void Ledger::AddCredit(int ordinal, Bytes bytes) {
  MutexLock lock(mutex_);
  if (DeviceMemory* device = Device(ordinal)) device->spare += bytes;
  changed_.NotifyAll();
}

Bytes Ledger::TakeSpare(int ordinal, Bytes keep) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr || device->spare <= keep) return 0;
  const Bytes taken = device->spare - keep;
  device->spare = keep;
  return taken;
}

bool Ledger::SpendOnCounted(int ordinal, Bytes bytes) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr) return false;
  if (residency_ != Residency::kUnmanaged) {
    if (device->spare < bytes) return false;
    device->spare -= bytes;
  }
  device->counted += bytes;
  return true;
}

void Ledger::Permit(int ordinal, Bytes bytes) {
  MutexLock lock(mutex_);
  if (DeviceMemory* device = Device(ordinal)) device->permitted += bytes;
}

void Ledger::SetResidency(Residency residency) {
  MutexLock lock(mutex_);
  residency_ = residency;
  if (residency == Residency::kIn || residency == Residency::kUnmanaged) {
    for (const auto& device : devices_) device->permitted = 0;
  }
  changed_.NotifyAll();
}

Residency Ledger::residency() const {
  MutexLock lock(mutex_);
  return residency_;
}

void Ledger::WaitForChange(std::int64_t microseconds) {
  MutexLock lock(mutex_);
  changed_.WaitFor(mutex_, microseconds);
}

// Whether `size` more bytes may be taken now. Beyond the budget nobody can help.
Reply Ledger::MayGrow(const DeviceMemory& device, Bytes size) const {
  if (device.Count().Need() + size > device.budget) return Failed(CUDA_ERROR_OUT_OF_MEMORY);
  if (residency_ == Residency::kSettled) return {Outcome::kWait, CUDA_SUCCESS, 0};
  if (residency_ == Residency::kIn && device.spare < size) {
    return {Outcome::kNeedCredit, CUDA_SUCCESS, size - device.spare};
  }
  if (residency_ == Residency::kOut && device.permitted < size) {
    return {Outcome::kNeedCredit, CUDA_SUCCESS, size - device.permitted};
  }
  return {};
}

void Ledger::TakeCredit(DeviceMemory& device, Block& block) {
  if (residency_ == Residency::kOut) {
    device.permitted -= std::min(device.permitted, block.size);
    return;
  }
  for (Piece& piece : block.pieces) {
    if (piece.credit) continue;
    piece.credit = true;
    if (residency_ == Residency::kIn) device.spare -= piece.size;
  }
}

void Ledger::ReturnCredit(DeviceMemory& device, Block& block) {
  for (Piece& piece : block.pieces) {
    if (!piece.credit) continue;
    piece.credit = false;
    if (residency_ != Residency::kUnmanaged) device.spare += piece.size;
  }
}

CUresult Ledger::MaterialiseAll(Block& block) {
  for (Piece& piece : block.pieces) {
    if (!piece.credit) continue;
    const CUresult result = Materialise(driver_, block, piece);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

// Within the budget, "out of memory" only means that memory of others is released late, or (with
// no daemon to ask) that others have it for now.
Reply Ledger::OfMaking(CUresult result) const {
  if (result == CUDA_SUCCESS) return {};
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return {Outcome::kRetry, result, 0};
  return Failed(result);
}

// Unmaps and releases all physical memory of a block that is going away.
CUresult Ledger::DropPieces(DeviceMemory& device, Block& block) {
  CUresult first = CUDA_SUCCESS;
  for (Piece& piece : block.pieces) {
    CUresult result = Dematerialise(driver_, block, piece);
    if (result != CUDA_SUCCESS) result = Dematerialise(driver_, block, piece);
    if (result != CUDA_SUCCESS && first == CUDA_SUCCESS) first = result;
    piece.slot.Reset();
    piece.on_host = false;
  }
  ReturnCredit(device, block);
  return first;
}

// ---- cuMemAlloc and its kin ----

Reply Ledger::AllocateBlock(DeviceMemory& device, Block::Kind kind, CUcontext owner,
                            Bytes requested, Block** out) {
  const Bytes size = RoundUp(requested, kGranularity);
  const Reply may = MayGrow(device, size);
  if (may.outcome != Outcome::kDone) return may;
  auto block = std::make_unique<Block>();
  block->kind = kind;
  block->size = size;
  block->requested = requested;
  block->properties = DeviceProperties(device.ordinal);
  block->owner = owner;
  block->written = true;
  block->pieces = MakePieces(size);
  Mapping mapping;
  CUresult result = driver_.AddressReserve(&mapping.address, size, kGranularity, 0, 0);
  if (result != CUDA_SUCCESS) return Failed(result);
  mapping.access.push_back(ReadWrite(device.ordinal, size));
  for (const int peer : device.peers) mapping.access.push_back(ReadWrite(peer, size));
  block->mappings.push_back(mapping);
  TakeCredit(device, *block);
  result = MaterialiseAll(*block);
  if (result != CUDA_SUCCESS) {
    DropPieces(device, *block);
    driver_.AddressFree(mapping.address, size);
    return OfMaking(result);
  }
  addresses_.Add(mapping.address, size, block.get());
  *out = block.get();
  device.blocks.push_back(std::move(block));
  return {};
}

Reply Ledger::AllocateSmall(DeviceMemory& device, CUcontext owner, Bytes size,
                            CUdeviceptr* address) {
  const Bytes taken = RoundUp(size, kSmallUnit);
  Bytes in_slabs = 0;
  for (const auto& block : device.blocks) {
    if (block->kind != Block::Kind::kSlab) continue;
    in_slabs += block->size;
    const auto offset = block->ranges->Take(taken);
    if (!offset) continue;
    block->smalls.insert(FindSmall(*block, *offset), Small{*offset, size, taken, owner});
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
  const auto offset = slab->ranges->Take(taken);
  if (!offset) return {Outcome::kFailed, CUDA_ERROR_UNKNOWN, 0};  // a small one fits a new slab
  slab->smalls.push_back(Small{*offset, size, taken, owner});
  *address = slab->mappings[0].address + *offset;
  return {};
}

Reply Ledger::Allocate(int ordinal, CUcontext owner, Bytes size, CUdeviceptr* address) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr) return {Outcome::kForeign, CUDA_SUCCESS, 0};
  if (size <= kSmallLimit) return AllocateSmall(*device, owner, size, address);
  Block* block = nullptr;
  const Reply reply = AllocateBlock(*device, Block::Kind::kAllocation, owner, size, &block);
  if (reply.outcome == Outcome::kDone) *address = block->mappings[0].address;
  return reply;
}

// Copies in flight hold a block; the mover is told that somebody waits and ends them soon.
void Ledger::WaitIdle(Block& block) {
  while (block.busy > 0) {
    ++free_waiters_;
    changed_.WaitFor(mutex_, 100'000);
    --free_waiters_;
  }
}

Reply Ledger::FreeBlock(DeviceMemory& device, Block& block) {
  WaitIdle(block);
  const CUdeviceptr address = block.mappings[0].address;
  const CUresult result = DropPieces(device, block);
  addresses_.Remove(address);
  driver_.AddressFree(address, block.size);
  std::erase_if(device.blocks, [&](const auto& one) { return one.get() == &block; });
  return result == CUDA_SUCCESS ? Reply{} : Failed(result);
}

Reply Ledger::FreeSmall(DeviceMemory& device, Block& block, CUdeviceptr address) {
  const Bytes offset = address - block.mappings[0].address;
  const auto small = FindSmall(block, offset);
  if (small == block.smalls.end() || small->offset != offset) {
    return Failed(CUDA_ERROR_INVALID_VALUE);
  }
  block.ranges->Give(small->offset, small->taken);
  block.smalls.erase(small);
  return block.ranges->empty() ? FreeBlock(device, block) : Reply{};
}

Reply Ledger::Free(CUdeviceptr address) {
  MutexLock lock(mutex_);
  const AddressMap::Entry* entry = addresses_.Find(address);
  if (entry == nullptr || entry->block->kind == Block::Kind::kHandle) {
    return {Outcome::kForeign, CUDA_SUCCESS, 0};
  }
  Block& block = *entry->block;
  DeviceMemory& device = *DeviceOf(block);
  if (block.kind == Block::Kind::kSlab) return FreeSmall(device, block, address);
  if (entry->address != address) return Failed(CUDA_ERROR_INVALID_VALUE);
  return FreeBlock(device, block);
}

void Ledger::FreeOwned(CUcontext owner) {
  MutexLock lock(mutex_);
  for (const auto& device : devices_) {
    for (std::size_t i = device->blocks.size(); i-- > 0;) {
      Block& block = *device->blocks[i];
      if (block.kind == Block::Kind::kAllocation && block.owner == owner) {
        FreeBlock(*device, block);
      } else if (block.kind == Block::Kind::kSlab) {
        for (std::size_t k = block.smalls.size(); k-- > 0;) {
          if (block.smalls[k].owner != owner) continue;
          block.ranges->Give(block.smalls[k].offset, block.smalls[k].taken);
          block.smalls.erase(block.smalls.begin() + static_cast<std::ptrdiff_t>(k));
        }
        if (block.ranges->empty()) FreeBlock(*device, block);
      }
      i = std::min(i, device->blocks.size());  // WaitIdle may have let others free
    }
  }
}

bool Ledger::Find(CUdeviceptr address, Place* place) const {
  MutexLock lock(mutex_);
  const AddressMap::Entry* entry = addresses_.Find(address);
  if (entry == nullptr) return false;
  Block& block = *entry->block;
  *place = Place{};
  place->base = entry->address;
  place->size = block.kind == Block::Kind::kAllocation ? block.requested : entry->size;
  place->device = block.properties.location.id;
  place->owner = block.owner;
  place->kind = block.kind;
  place->properties = block.properties;
  if (block.kind == Block::Kind::kSlab) {
    const Bytes offset = address - entry->address;
    auto small = FindSmall(block, offset + 1);
    if (small == block.smalls.begin()) return false;
    --small;
    if (offset >= small->offset + small->taken) return false;
    place->base = entry->address + small->offset;
    place->size = small->requested;
    place->owner = small->owner;
  } else if (block.kind == Block::Kind::kAllocation && address >= place->base + place->size) {
    return false;
  }
  // Any number that is unique to the allocation while it lives will do.
  place->buffer_id = place->base;
  return true;
}

bool Ledger::IsMapped(CUdeviceptr address, Bytes size) const {
  MutexLock lock(mutex_);
  return !addresses_.Within(address, size).empty();
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

CUresult Ledger::EnsureStream(DeviceMemory& device) {
  if (device.stream != nullptr) return CUDA_SUCCESS;
  return driver_.StreamCreate(&device.stream, CU_STREAM_NON_BLOCKING);
}

}  // namespace reveza::swap
