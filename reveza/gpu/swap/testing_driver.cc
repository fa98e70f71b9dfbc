#include "reveza/gpu/swap/testing_driver.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "reveza/gpu/swap/fingerprint_kernel.h"

namespace reveza::swap::testing {
namespace {

void* At(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

}  // namespace

TestingDriver* TestingDriver::the_ = nullptr;

TestingDriver::TestingDriver(Bytes capacity_of_gpu) : capacity(capacity_of_gpu) {
  the_ = this;
  driver_.AddressReserve = AddressReserve;
  driver_.AddressFree = AddressFree;
  driver_.Create = Create;
  driver_.Release = Release;
  driver_.Map = Map;
  driver_.Unmap = Unmap;
  driver_.SetAccess = SetAccess;
  driver_.CopyToHost = CopyToHost;
  driver_.CopyToDevice = CopyToDevice;
  driver_.CopyOnDevice = CopyOnDevice;
  driver_.SetWords = SetWords;
  driver_.Prefetch = Prefetch;
  driver_.StreamCreate = StreamCreate;
  driver_.StreamDestroy = [](CUstream) { return CUDA_SUCCESS; };
  driver_.StreamSynchronize = StreamSynchronize;
  driver_.EventCreate = EventCreate;
  driver_.EventDestroy = EventDestroy;
  driver_.EventRecord = EventRecord;
  driver_.EventSynchronize = EventSynchronize;
  driver_.HostAllocate = HostAllocate;
  driver_.HostGetDevicePointer = HostGetDevicePointer;
  driver_.HostRegister = HostRegister;
  driver_.HostUnregister = HostUnregister;
  driver_.ModuleLoad = ModuleLoad;
  driver_.ModuleGetFunction = ModuleGetFunction;
  driver_.Launch = Launch;
  driver_.fingerprint_image = "image";
  driver_.ContextGetCurrent = [](CUcontext* context) {
    *context = nullptr;
    return CUDA_SUCCESS;
  };
  driver_.ContextPushCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  driver_.ContextPopCurrent = [](CUcontext*) { return CUDA_SUCCESS; };
}

TestingDriver::~TestingDriver() {
  for (const auto& [address, mapped] : mapped_) munmap(At(address), mapped.size);
  for (const auto& [handle, physical] : physical_) close(physical.fd);
  the_ = nullptr;
}

void TestingDriver::FailCall(const std::string& name, int nth, CUresult error, int times) {
  failures_[name] = {nth, error, times};
}

Bytes TestingDriver::in_use() const {
  Bytes sum = 0;
  for (const auto& [handle, physical] : physical_) sum += physical.on_host ? 0 : physical.size;
  return sum;
}

Bytes TestingDriver::on_host() const {
  Bytes sum = 0;
  for (const auto& [handle, physical] : physical_) sum += physical.on_host ? physical.size : 0;
  return sum;
}

CUresult TestingDriver::Enter(const char* name) {
  ++the_->calls[name];
  const auto failure = the_->failures_.find(name);
  if (failure == the_->failures_.end() || --failure->second.nth > 0) return CUDA_SUCCESS;
  const CUresult error = failure->second.error;
  if (--failure->second.times == 0) the_->failures_.erase(failure);
  return error;
}

void TestingDriver::Finish(std::size_t mark, bool lose) {
  for (; done_ < mark; ++done_) {
    const Copy& copy = copies_[done_];
    if (lose) continue;
    if (copy.from == nullptr) {
      memset(copy.to, 0, copy.size);
    } else {
      memcpy(copy.to, copy.from, copy.size);
    }
  }
}

CUresult TestingDriver::AddressReserve(CUdeviceptr* address, size_t size, size_t alignment,
                                       CUdeviceptr, unsigned long long) {
  if (const CUresult failed = Enter("AddressReserve")) return failed;
  char* base = static_cast<char*>(mmap(nullptr, size + alignment, PROT_NONE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (base == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto at = reinterpret_cast<std::uintptr_t>(base);
  *address = RoundUp(at, alignment);
  return CUDA_SUCCESS;
}

CUresult TestingDriver::AddressFree(CUdeviceptr address, size_t size) {
  if (const CUresult failed = Enter("AddressFree")) return failed;
  const auto next = the_->mapped_.lower_bound(address);
  if (next != the_->mapped_.end() && next->first < address + size) return CUDA_ERROR_INVALID_VALUE;
  munmap(At(address), size);
  return CUDA_SUCCESS;
}

CUresult TestingDriver::Create(CUmemGenericAllocationHandle* handle, size_t size,
                               const CUmemAllocationProp* properties, unsigned long long) {
  if (const CUresult failed = Enter("Create")) return failed;
  Physical physical;
  physical.on_host = properties->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
  if (physical.on_host ? size > the_->host_capacity - the_->on_host()
                       : the_->in_use() + size > the_->capacity) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  physical.fd = memfd_create("gpu", MFD_CLOEXEC);
  physical.size = size;
  if (ftruncate(physical.fd, static_cast<off_t>(size)) != 0) return CUDA_ERROR_UNKNOWN;
  *handle = the_->next_handle_++;
  the_->physical_[*handle] = physical;
  return CUDA_SUCCESS;
}

void TestingDriver::Drop(CUmemGenericAllocationHandle handle) {
  const auto at = physical_.find(handle);
  if (!at->second.released || at->second.mappings > 0) return;
  close(at->second.fd);
  physical_.erase(at);
}

CUresult TestingDriver::Release(CUmemGenericAllocationHandle handle) {
  if (const CUresult failed = Enter("Release")) return failed;
  const auto at = the_->physical_.find(handle);
  if (at == the_->physical_.end() || at->second.released) return CUDA_ERROR_INVALID_VALUE;
  at->second.released = true;
  the_->Drop(handle);
  return CUDA_SUCCESS;
}

CUresult TestingDriver::Map(CUdeviceptr address, size_t size, size_t offset,
                            CUmemGenericAllocationHandle handle, unsigned long long) {
  if (const CUresult failed = Enter("Map")) return failed;
  const auto at = the_->physical_.find(handle);
  if (at == the_->physical_.end() || offset != 0 || size != at->second.size ||
      the_->mapped_.contains(address)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (mmap(At(address), size, PROT_NONE, MAP_SHARED | MAP_FIXED, at->second.fd, 0) == MAP_FAILED) {
    return CUDA_ERROR_UNKNOWN;
  }
  ++at->second.mappings;
  the_->mapped_[address] = {size, handle};
  return CUDA_SUCCESS;
}

CUresult TestingDriver::Unmap(CUdeviceptr address, size_t size) {
  if (const CUresult failed = Enter("Unmap")) return failed;
  const auto at = the_->mapped_.find(address);
  if (at == the_->mapped_.end() || at->second.size != size) return CUDA_ERROR_INVALID_VALUE;
  const void* hidden = mmap(At(address), size, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (hidden == MAP_FAILED) return CUDA_ERROR_UNKNOWN;
  const CUmemGenericAllocationHandle handle = at->second.handle;
  the_->mapped_.erase(at);
  --the_->physical_[handle].mappings;
  the_->Drop(handle);
  return CUDA_SUCCESS;
}

CUresult TestingDriver::SetAccess(CUdeviceptr address, size_t size,
                                  const CUmemAccessDesc* descriptions, size_t count) {
  if (const CUresult failed = Enter("SetAccess")) return failed;
  for (size_t i = 0; i < count; ++i) {
    if (descriptions[i].location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA) {
      const auto at = the_->mapped_.find(address);
      if (at == the_->mapped_.end() || !the_->physical_[at->second.handle].on_host) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      continue;
    }
    if (descriptions[i].location.id != 0) continue;  // the test accesses memory as device 0
    const int protection = descriptions[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                               ? PROT_READ | PROT_WRITE
                           : descriptions[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ
                                                                                    : PROT_NONE;
    if (mprotect(At(address), size, protection) != 0) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult TestingDriver::CopyToHost(void* host, CUdeviceptr device, size_t size, CUstream) {
  if (const CUresult failed = Enter("CopyToHost")) return failed;
  the_->copies_.push_back({host, At(device), size});
  the_->bytes_out += size;
  return CUDA_SUCCESS;
}

CUresult TestingDriver::CopyToDevice(CUdeviceptr device, const void* host, size_t size, CUstream) {
  if (const CUresult failed = Enter("CopyToDevice")) return failed;
  the_->copies_.push_back({At(device), host, size});
  the_->bytes_in += size;
  return CUDA_SUCCESS;
}

CUresult TestingDriver::CopyOnDevice(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream) {
  if (const CUresult failed = Enter("CopyOnDevice")) return failed;
  the_->copies_.push_back({At(to), At(from), size});
  return CUDA_SUCCESS;
}

CUresult TestingDriver::SetWords(CUdeviceptr to, unsigned int word, size_t count, CUstream) {
  if (const CUresult failed = Enter("SetWords")) return failed;
  if (word != 0) return CUDA_ERROR_NOT_SUPPORTED;
  the_->copies_.push_back({At(to), nullptr, count * sizeof(word)});
  return CUDA_SUCCESS;
}

CUresult TestingDriver::StreamCreate(CUstream* stream, unsigned int) {
  *stream = reinterpret_cast<CUstream>(0x2000);
  return Enter("StreamCreate");
}

CUresult TestingDriver::StreamSynchronize(CUstream) {
  const CUresult result = Enter("StreamSynchronize");
  for (auto& [handle, event] : the_->events_) {
    event.lost = event.lost || (result != CUDA_SUCCESS && event.mark > the_->done_);
  }
  the_->Finish(the_->copies_.size(), result != CUDA_SUCCESS);
  return result;
}

CUresult TestingDriver::EventCreate(CUevent* event, unsigned int) {
  if (const CUresult failed = Enter("EventCreate")) return failed;
  *event = reinterpret_cast<CUevent>(the_->next_event_++);
  the_->events_[*event] = Event{};
  return CUDA_SUCCESS;
}

CUresult TestingDriver::EventDestroy(CUevent event) {
  return the_->events_.erase(event) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult TestingDriver::Prefetch(CUdeviceptr address, size_t size, CUdevice target, CUstream) {
  if (const CUresult failed = Enter("Prefetch")) return failed;
  the_->prefetches.push_back({address, size, target});
  return CUDA_SUCCESS;
}

CUresult TestingDriver::EventRecord(CUevent event, CUstream) {
  if (const CUresult failed = Enter("EventRecord")) return failed;
  the_->events_.at(event).mark = the_->copies_.size();
  return CUDA_SUCCESS;
}

CUresult TestingDriver::EventSynchronize(CUevent event) {
  if (the_->while_copying) std::exchange(the_->while_copying, nullptr)();
  const CUresult result = Enter("EventSynchronize");
  const Event& waited = the_->events_.at(event);
  the_->Finish(waited.mark, result != CUDA_SUCCESS);
  return waited.lost ? CUDA_ERROR_UNKNOWN : result;
}

CUresult TestingDriver::HostAllocate(void** memory, size_t size, unsigned int) {
  if (const CUresult failed = Enter("HostAllocate")) return failed;
  *memory = the_->host_memory_.emplace_back(size).data();
  return CUDA_SUCCESS;
}

CUresult TestingDriver::HostGetDevicePointer(CUdeviceptr* address, void* memory, unsigned int) {
  if (const CUresult failed = Enter("HostGetDevicePointer")) return failed;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

CUresult TestingDriver::ModuleLoad(CUmodule* module, const void*) {
  if (const CUresult failed = Enter("ModuleLoad")) return failed;
  *module = reinterpret_cast<CUmodule>(0x5000);
  return CUDA_SUCCESS;
}

CUresult TestingDriver::ModuleGetFunction(CUfunction* function, CUmodule, const char*) {
  if (const CUresult failed = Enter("ModuleGetFunction")) return failed;
  *function = reinterpret_cast<CUfunction>(0x6000);
  return CUDA_SUCCESS;
}

CUresult TestingDriver::Launch(CUfunction, unsigned int blocks, unsigned int pieces, unsigned int,
                               unsigned int, unsigned int, unsigned int, unsigned int, CUstream,
                               void** parameters, void**) {
  if (const CUresult failed = Enter("Launch")) return failed;
  const auto* of = static_cast<const FingerprintPieces*>(parameters[0])->of;
  const auto out = *static_cast<const CUdeviceptr*>(parameters[9]);
  for (unsigned piece = 0; piece < pieces; ++piece) {
    const auto* words = static_cast<const std::uint64_t*>(At(of[piece].address));
    auto* sums = static_cast<std::uint64_t*>(At(out)) + std::size_t{2} * blocks * piece;
    std::fill_n(sums, std::size_t{2} * blocks, 0);
    the_->fingerprinted += of[piece].groups * kFingerprintGroup;
    if (the_->same_fingerprints) sums[0] = 1;
    if (the_->same_fingerprints || the_->zero_fingerprints) continue;
    for (std::uint64_t i = 0; i < of[piece].groups * 4; ++i) {
      sums[0] = sums[0] * 31 + words[i];
    }
    sums[0] %= kFingerprintPrime;
  }
  return CUDA_SUCCESS;
}

CUresult TestingDriver::HostRegister(void*, size_t, unsigned int) {
  if (const CUresult failed = Enter("HostRegister")) return failed;
  ++the_->registered;
  return CUDA_SUCCESS;
}

CUresult TestingDriver::HostUnregister(void*) {
  --the_->registered;
  return CUDA_SUCCESS;
}

}  // namespace reveza::swap::testing
