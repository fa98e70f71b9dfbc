// Memory of all kinds, and what it holds.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "tests/random_programs/world.h"

namespace reveza::random_programs {
namespace {

constexpr std::size_t kGranule = 2 << 20;
constexpr std::size_t kMaxHost = 4 << 20;
constexpr std::size_t kSizes[] = {4 << 10, 100 << 10,  700 << 10, 1 << 20,
                                  2 << 20, 3000 << 10, 4 << 20,   5 << 20};

std::size_t SizeOf(int size) { return kSizes[size % std::size(kSizes)]; }
std::size_t RoundUp(std::size_t bytes) { return (bytes + kGranule - 1) / kGranule * kGranule; }

CUmemAllocationProp Properties(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

CUmemAccessDesc AccessOf(int device) {
  CUmemAccessDesc access{};
  access.location = Properties(device).location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

}  // namespace

std::size_t World::Used(int device) const {
  std::set<const Storage*> seen;
  std::size_t used = 0;
  for (const Buffer& buffer : buffers_) {
    const Storage* storage = buffer.storage.get();
    if (storage == nullptr || storage->device != device || !seen.insert(storage).second) continue;
    used += device < 0 ? storage->bytes : RoundUp(storage->bytes);
  }
  return used;
}

bool World::MayAllocate(int buffer, int context, std::size_t bytes, int device) {
  if (buffers_[buffer].storage != nullptr || !Exists(context)) return false;
  return device < 0 ? Used(device) + bytes <= kMaxHost : Used(device) + RoundUp(bytes) <= memory_;
}

void World::Store(int buffer, Type type, CUdeviceptr address, std::size_t bytes, int context,
                  CUmemGenericAllocationHandle handle) {
  auto storage = std::make_shared<Storage>();
  storage->type = type;
  storage->bytes = bytes;
  storage->device = type == Type::kHost ? -1 : contexts_[context].device;
  storage->context = context;
  storage->handle = handle;
  storage->mappings = 1;
  buffers_[buffer] = {std::move(storage), address};
}

void World::Allocate(Kind kind, int buffer, int context, int size) {
  const std::size_t bytes = SizeOf(size);
  const bool host = kind == Kind::kAllocHost;
  if (!Exists(context) ||
      !MayAllocate(buffer, context, bytes, host ? -1 : contexts_[context].device)) {
    return;
  }
  Enter(context);
  CUdeviceptr address = 0;
  CUresult result = CUDA_SUCCESS;
  Type type = Type::kNative;
  if (kind == Kind::kAlloc) {
    result = driver_.cuMemAlloc(&address, bytes);
  } else if (kind == Kind::kAllocManaged) {
    type = Type::kManaged;
    result = driver_.cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL);
  } else {
    void* pointer = nullptr;
    type = Type::kHost;
    result = driver_.cuMemHostAlloc(&pointer, bytes,
                                    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    address = reinterpret_cast<CUdeviceptr>(pointer);
    if (result == CUDA_SUCCESS) std::memset(pointer, size, bytes);
  }
  Note(result);
  if (result != CUDA_SUCCESS) return;
  Store(buffer, type, address, bytes, context);
  buffers_[buffer].storage->written = host;
}

void World::AllocateAsync(int buffer, int stream, int size) {
  const Stream* used = Usable(stream);
  if (used == nullptr || used->capture >= 0) return;
  const int context = used->context;
  if (!MayAllocate(buffer, context, SizeOf(size), contexts_[context].device)) return;
  Enter(context);
  CUdeviceptr address = 0;
  const CUresult result = driver_.cuMemAllocAsync(&address, SizeOf(size), used->handle);
  Note(result);
  if (result != CUDA_SUCCESS) return;
  Store(buffer, Type::kPool, address, SizeOf(size), context);
  buffers_[buffer].storage->last = used->mark;
}

CUdeviceptr World::Map(CUmemGenericAllocationHandle handle, std::size_t bytes, int device) {
  CUdeviceptr address = 0;
  const CUmemAccessDesc access = AccessOf(device);
  if (!Must(driver_.cuMemAddressReserve(&address, bytes, 0, 0, 0), "reserve")) return 0;
  const bool mapped = Must(driver_.cuMemMap(address, bytes, 0, handle, 0), "map");
  if (mapped && Must(driver_.cuMemSetAccess(address, bytes, &access, 1), "access")) return address;
  if (mapped) driver_.cuMemUnmap(address, bytes);
  driver_.cuMemAddressFree(address, bytes);
  return 0;
}

void World::Unmap(CUdeviceptr address, std::size_t bytes) {
  Note(driver_.cuMemUnmap(address, bytes));
  Must(driver_.cuMemAddressFree(address, bytes), "address");
}

void World::CreateHandle(int buffer, int context, int size, bool release) {
  const std::size_t bytes = RoundUp(SizeOf(size));
  if (!Exists(context) || !MayAllocate(buffer, context, bytes, contexts_[context].device)) return;
  Enter(context);
  const CUmemAllocationProp properties = Properties(contexts_[context].device);
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = driver_.cuMemCreate(&handle, bytes, &properties, 0);
  Note(result);
  if (result != CUDA_SUCCESS) return;
  const CUdeviceptr address = Map(handle, bytes, contexts_[context].device);
  if (address == 0 || release) Must(driver_.cuMemRelease(handle), "release");
  if (address != 0) Store(buffer, Type::kHandle, address, bytes, context, release ? 0 : handle);
}

// Maps the memory a second time, through a file descriptor.
void World::Export(int buffer, int copy) {
  const std::shared_ptr<Storage> storage = buffers_[buffer].storage;
  if (storage == nullptr || storage->type != Type::kHandle || storage->handle == 0 ||
      buffers_[copy].storage != nullptr) {
    return;
  }
  int file = -1;
  const CUresult result = driver_.cuMemExportToShareableHandle(
      &file, storage->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  Note(result);
  if (result != CUDA_SUCCESS) return;
  CUmemGenericAllocationHandle imported = 0;
  const CUresult import = driver_.cuMemImportFromShareableHandle(
      &imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  Note(import);
  close(file);
  if (import != CUDA_SUCCESS) return;
  const CUdeviceptr address = Map(imported, storage->bytes, storage->device);
  Must(driver_.cuMemRelease(imported), "release");
  if (address == 0) return;
  ++storage->mappings;
  buffers_[copy] = {storage, address};
}

// Replaces the handle by one that the mapping gives.
void World::RetainHandle(int buffer) {
  const std::shared_ptr<Storage>& storage = buffers_[buffer].storage;
  if (storage == nullptr || storage->type != Type::kHandle) return;
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = driver_.cuMemRetainAllocationHandle(
      &handle, reinterpret_cast<void*>(buffers_[buffer].address));
  Note(result);
  if (result != CUDA_SUCCESS) return;
  if (storage->handle != 0) Must(driver_.cuMemRelease(storage->handle), "release");
  storage->handle = handle;
}

void World::MoveMapping(int buffer) {
  const std::shared_ptr<Storage> storage = buffers_[buffer].storage;
  if (storage == nullptr || storage->type != Type::kHandle || storage->handle == 0) return;
  if (AnyCapture()) return;
  WaitFor(storage);
  for (int graph = 0; graph < kGraphs; ++graph) DestroyGraph(graph);
  Unmap(buffers_[buffer].address, storage->bytes);
  buffers_[buffer].address = Map(storage->handle, storage->bytes, storage->device);
  if (buffers_[buffer].address != 0) return;
  if (--storage->mappings == 0) Must(driver_.cuMemRelease(storage->handle), "release");
  buffers_[buffer] = {};
}

// Gives the other device access.
void World::ShareAccess(int buffer) {
  const std::shared_ptr<Storage>& storage = buffers_[buffer].storage;
  if (storage == nullptr || storage->type != Type::kHandle || devices_ < 2) return;
  const CUmemAccessDesc access = AccessOf(1 - storage->device);
  Note(driver_.cuMemSetAccess(buffers_[buffer].address, storage->bytes, &access, 1));
  unsigned long long flags = 0;
  Note(driver_.cuMemGetAccess(&flags, &access.location, buffers_[buffer].address));
  NoteValue(static_cast<long long>(flags));
}

void World::Free(int buffer) {
  const auto [storage, address] = buffers_[buffer];
  if (storage == nullptr) return;
  // cuMemFree waits for the memory's own device only.
  const bool elsewhere = storage->last != nullptr && Exists(storage->last->context) &&
                         contexts_[storage->last->context].device != storage->device;
  const bool waits = storage->type != Type::kNative || elsewhere;
  // A capture may forbid the wait.
  if (waits && AnyCapture()) return;
  ReleaseHolds();
  if (waits) WaitFor(storage);
  if (storage->type == Type::kHandle) {
    Unmap(address, storage->bytes);
    if (--storage->mappings == 0 && storage->handle != 0) {
      Must(driver_.cuMemRelease(storage->handle), "release");
    }
    buffers_[buffer] = {};
    return;
  }
  CUresult result = CUDA_SUCCESS;
  CUcontext current = nullptr;
  driver_.cuCtxGetCurrent(&current);
  // Any context frees memory of cuMemAlloc.
  if (current == nullptr || storage->type != Type::kNative) Enter(storage->context);
  if (storage->type == Type::kHost) {
    result = driver_.cuMemFreeHost(reinterpret_cast<void*>(address));
  } else if (storage->type == Type::kPool) {
    result = driver_.cuMemFreeAsync(address, nullptr);
    Must(driver_.cuStreamSynchronize(nullptr), "sync");
  } else {
    result = driver_.cuMemFree(address);
  }
  Note(result);
  if (result == CUDA_SUCCESS) buffers_[buffer] = {};
}

void World::FreeAsync(int buffer, int stream) {
  const auto [storage, address] = buffers_[buffer];
  const Stream* used = Usable(stream);
  if (storage == nullptr || used == nullptr || used->capture >= 0 || storage->type != Type::kPool ||
      used->context != storage->context || !Order(storage, stream)) {
    return;
  }
  Enter(used->context);
  const CUresult result = driver_.cuMemFreeAsync(address, used->handle);
  Note(result);
  if (result == CUDA_SUCCESS) buffers_[buffer] = {};
}

void World::Query(int buffer) {
  const auto [storage, address] = buffers_[buffer];
  if (storage == nullptr || !Exists(storage->context)) return;
  Enter(storage->context);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  const CUresult range = driver_.cuMemGetAddressRange(&base, &size, address + storage->bytes / 2);
  Note(range);
  if (range == CUDA_SUCCESS) {
    NoteValue(static_cast<long long>(base - address));
    NoteValue(static_cast<long long>(size));
  }
  for (const CUpointer_attribute attribute :
       {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_RANGE_SIZE}) {
    std::size_t value = 0;
    const CUresult result = driver_.cuPointerGetAttribute(&value, attribute, address + 8);
    Note(result);
    if (result == CUDA_SUCCESS) NoteValue(static_cast<long long>(value));
  }
}

// Calls that the driver refuses.
void World::BadCall(int which, int buffer) {
  const auto [storage, address] = buffers_[buffer];
  CUcontext current = nullptr;
  driver_.cuCtxGetCurrent(&current);
  if (current == nullptr || AnyCapture()) return;
  CUdeviceptr made = 0;
  const bool handle = storage != nullptr && storage->type == Type::kHandle;
  switch (which % 8) {
    case 0:
      ReleaseHolds();
      Note(driver_.cuMemFree(0x10));
      break;
    case 1:
      ReleaseHolds();
      if (storage != nullptr && storage->type == Type::kNative)
        Note(driver_.cuMemFree(address + 1));
      break;
    case 2:
      Note(driver_.cuMemAlloc(&made, std::size_t{1} << 50));
      break;
    case 3:
      Note(driver_.cuMemAlloc(&made, 0));
      break;
    case 4:
      Note(driver_.cuMemRelease(12345));
      break;
    case 5:
      // Not more than what is mapped: a mapping that follows it would be unmapped, too.
      Note(driver_.cuMemUnmap(kGranule, kGranule));
      break;
    case 6:
      if (handle) Note(driver_.cuMemAddressFree(address, storage->bytes));
      break;
    default:
      Note(driver_.cuMemsetD8Async(0, 1, 16, nullptr));
      break;
  }
}

// Waits for everything and writes down the contents of all memory.
void World::Check() {
  if (AnyCapture()) return;
  ReleaseHolds();
  for (int context = 0; context < kContexts && !concurrent_; ++context) {
    if (!Exists(context)) continue;
    Enter(context);
    Must(driver_.cuCtxSynchronize(), "sync");
  }
  for (int stream = 0; stream < kStreams && concurrent_; ++stream) {
    if (Usable(stream) == nullptr) continue;
    Enter(streams_[stream].context);
    Must(driver_.cuStreamSynchronize(streams_[stream].handle), "sync");
  }
  for (const auto& mark : marks_) {
    // Calls of the host in streams that were destroyed.
    if (mark->stream < 0 && concurrent_) Must(driver_.cuEventSynchronize(mark->event), "sync");
  }
  for (const Buffer& buffer : buffers_) {
    // Its stream may have been destroyed.
    if (buffer.storage != nullptr) WaitFor(buffer.storage);
  }
  NoteValue(host_sum_->load());
  std::string bytes;
  for (int buffer = 0; buffer < kBuffers; ++buffer) {
    const auto [storage, address] = buffers_[buffer];
    if (storage == nullptr || !storage->written) continue;
    const int owner = storage->type == Type::kHandle ? storage->device : storage->context;
    if (!Exists(owner)) continue;
    Enter(owner);
    bytes.assign(storage->bytes, '\0');
    if (storage->type == Type::kHost) {
      std::memcpy(bytes.data(), reinterpret_cast<const void*>(address), storage->bytes);
    } else {
      Must(driver_.cuMemcpyDtoH(bytes.data(), address, storage->bytes), "read");
    }
    text_ += " " + std::to_string(buffer) + ":" +
             std::to_string(std::hash<std::string_view>()(bytes) % 1000000007);
  }
}

}  // namespace reveza::random_programs
