#include "reveza/gpu/swap/ledger.h"

#include <algorithm>

#include "reveza/gpu/swap/physical.h"

namespace reveza::swap {

Ledger::Ledger(const Driver& driver, HostArena& arena) : driver_(driver), arena_(arena) {}

// ---- devices ----

DeviceMemory* Ledger::Device(int ordinal) {
  const auto found = std::ranges::find(devices_, ordinal, &DeviceMemory::ordinal);
  return found == devices_.end() ? nullptr : found->get();
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

void Ledger::OnContextDestroy(int ordinal, CUcontext context, CUcontext other) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr || device->context != context) return;
  device->stream = nullptr;  // destroyed with its context
  device->fingerprint_kernel = {};
  device->context = other;
  device->sync_failures = 0;
  device->context_lost = false;
  arena_.InvalidateRegistrations();
}

void Ledger::SetContextBytes(int ordinal, Bytes bytes) {
  MutexLock lock(mutex_);
  if (DeviceMemory* device = Device(ordinal)) device->context_bytes = bytes;
}

void Ledger::ReleaseContextBytes(int ordinal) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr) return;
  if (residency_ != Residency::kUnmanaged) device->spare += device->context_bytes;
  device->context_bytes = 0;
}

bool Ledger::HasHostCopies(int ordinal) const {
  MutexLock lock(mutex_);
  const DeviceMemory* device = Device(ordinal);
  return device != nullptr && std::ranges::any_of(device->blocks, [](const auto& block) {
           return block->kind == Block::Kind::kHandle &&
                  std::ranges::any_of(block->pieces, &Piece::on_host);
         });
}

void Ledger::AddCounted(int ordinal, std::int64_t delta) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr) return;
  const Bytes magnitude = static_cast<Bytes>(delta < 0 ? -delta : delta);
  if (delta >= 0) {
    device->counted += magnitude;
  } else {
    device->counted -= std::min(device->counted, magnitude);
    if (residency_ != Residency::kUnmanaged) device->spare += magnitude;
  }
}

MemoryUsage Ledger::GetUsage(int ordinal) const {
  MutexLock lock(mutex_);
  const DeviceMemory* device = Device(ordinal);
  return device == nullptr ? MemoryUsage{} : device->Count();
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

void Ledger::Promise(int ordinal, Bytes bytes) {
  MutexLock lock(mutex_);
  if (DeviceMemory* device = Device(ordinal)) device->promised += bytes;
}

void Ledger::Fulfil(int ordinal, Bytes bytes) {
  if (bytes == 0) return;
  MutexLock lock(mutex_);
  if (DeviceMemory* device = Device(ordinal)) {
    device->promised -= std::min(device->promised, bytes);
  }
}

Bytes Ledger::Promised(int ordinal) const {
  MutexLock lock(mutex_);
  const DeviceMemory* device = Device(ordinal);
  return device == nullptr ? 0 : device->promised;
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

void Ledger::CountGrown(int ordinal, Bytes bytes) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr) return;
  if (residency_ != Residency::kUnmanaged) device->spare -= std::min(device->spare, bytes);
  device->counted += bytes;
}

void Ledger::Permit(int ordinal, Bytes bytes) {
  MutexLock lock(mutex_);
  if (DeviceMemory* device = Device(ordinal)) device->permitted += bytes;
}

void Ledger::BackByHost(int ordinal, int node) {
  MutexLock lock(mutex_);
  if (DeviceMemory* device = Device(ordinal)) device->host_node = node;
}

bool Ledger::PlaceNextOnHost(int ordinal) {
  MutexLock lock(mutex_);
  DeviceMemory* device = Device(ordinal);
  if (device == nullptr || device->host_node < 0) return false;
  ++device->on_host_next;
  return true;
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
  changed_.WaitFor(mutex_, std::chrono::microseconds(microseconds));
}

// Exceeding the budget is final, unless memory of the host backs it: the first pieces that fit are
// on the GPU.
Reply Ledger::Place(DeviceMemory& device, Block& block) {
  const Bytes need = device.Count().Need();
  Bytes room = device.budget > need ? device.budget - need : 0;
  if (device.host_node < 0 && block.size > room) return Failed(CUDA_ERROR_OUT_OF_MEMORY);
  if (residency_ == Residency::kSettled) return {Outcome::kWait, CUDA_SUCCESS, 0};
  if (device.on_host_next > 0) {
    --device.on_host_next;
    room = 0;
  }
  Bytes size = 0;
  for (Piece& piece : block.pieces) {
    if (piece.size <= room - size) {
      size += piece.size;
    } else {
      piece.host_node = device.host_node;
      room = size;
    }
  }
  if (residency_ == Residency::kIn && device.spare < size) {
    return {Outcome::kNeedCredit, CUDA_SUCCESS, size - device.spare};
  }
  if (residency_ == Residency::kOut && device.permitted < size) {
    return {Outcome::kNeedCredit, CUDA_SUCCESS, size - device.permitted};
  }
  return {};
}

CUresult Ledger::MakeOnHost(Block& block) {
  const Bytes size = block.BytesOnHost();
  if (size == 0) return CUDA_SUCCESS;
  const CUresult result = arena_.TakeBeside(size, [&] {
    for (Piece& piece : block.pieces) {
      if (!piece.OnHost()) continue;
      const CUresult made = Create(driver_, block, piece.host_node, piece.size, &piece.handle);
      if (made == CUDA_SUCCESS) continue;
      piece.handle = 0;
      return made;
    }
    return CUDA_SUCCESS;
  });
  if (result == CUDA_SUCCESS) return result;
  for (Piece& piece : block.pieces) DematerialiseWithRetry(driver_, block, piece);
  return result;
}

void Ledger::TakeCredit(DeviceMemory& device, Block& block) {
  if (residency_ == Residency::kOut) {
    device.permitted -= std::min(device.permitted, block.size - block.BytesOnHost());
    return;
  }
  for (Piece& piece : block.pieces) {
    if (piece.credit || piece.OnHost()) continue;
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
    if (!piece.credit && !piece.OnHost()) continue;
    const CUresult result = Materialise(driver_, block, piece);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

// Within the budget, "out of memory" is temporary: another process has not released its memory yet,
// or (without a daemon) still uses it.
Reply Ledger::CreationReply(CUresult result) {
  if (result == CUDA_SUCCESS) return {};
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return {Outcome::kRetry, result, 0};
  return Failed(result);
}

// Unmaps and releases all physical memory of a block that is being freed.
CUresult Ledger::ReleasePieces(DeviceMemory& device, Block& block) {
  CUresult first = CUDA_SUCCESS;
  for (Piece& piece : block.pieces) {
    const CUresult result = DematerialiseWithRetry(driver_, block, piece);
    if (result != CUDA_SUCCESS && first == CUDA_SUCCESS) first = result;
    piece.slot.Reset();
    piece.on_host = false;
    piece.of_slot.reset();
  }
  ReturnCredit(device, block);
  return first;
}

// Waits, with the lock released, until no copy of the block is in flight. free_waiters_ makes the
// mover finish its copies early.
void Ledger::WaitForCopies(Block& block) {
  while (block.copies_in_flight > 0) {
    ++free_waiters_;
    changed_.WaitFor(mutex_, std::chrono::milliseconds(100));
    --free_waiters_;
  }
}

CUresult Ledger::EnsureStream(DeviceMemory& device) {
  if (device.stream != nullptr) return CUDA_SUCCESS;
  return driver_.StreamCreate(&device.stream, CU_STREAM_NON_BLOCKING);
}

}  // namespace reveza::swap
