// Fake GPU for the tests of this room. Device addresses are process addresses and physical memory
// is memfds mapped there, so tests access "GPU memory" directly and an unmapped access crashes.
// Copies are performed as late as possible, when they are waited for; a failed wait loses the
// copies it waited for. The kernel of fingerprints runs at once, with a simpler hash.
#pragma once

#include <cuda.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "reveza/gpu/swap/driver.h"

namespace reveza::swap::testing {

class TestingDriver {
 public:
  // At most one instance: the driver calls are plain functions that use a static pointer.
  explicit TestingDriver(Bytes capacity_of_gpu);
  ~TestingDriver();
  TestingDriver(const TestingDriver&) = delete;
  TestingDriver& operator=(const TestingDriver&) = delete;

  const Driver& driver() const { return driver_; }
  CUcontext context() const { return reinterpret_cast<CUcontext>(this_context_); }

  // Makes `times` calls of `name` fail with `error`, beginning with the `nth` from now on (1: the
  // next).
  void FailCall(const std::string& name, int nth, CUresult error, int times = 1);

  // Called once, by the next EventSynchronize; no lock is held.
  std::function<void()> while_copying;

  // Physical memory of the GPU in existence: created and not yet both released and unmapped.
  Bytes in_use() const;
  // The same of the host's NUMA node 0, and how much there is of it.
  Bytes on_host() const;
  Bytes host_capacity = ~Bytes{0};
  Bytes capacity;       // of the GPU
  Bytes bytes_out = 0;  // device to host
  Bytes bytes_in = 0;   // host to device
  std::map<std::string, int> calls;
  int registered = 0;  // host ranges
  struct Prefetched {
    CUdeviceptr address = 0;
    Bytes size = 0;
    CUdevice target = 0;
    friend bool operator==(const Prefetched&, const Prefetched&) = default;
  };
  std::vector<Prefetched> prefetches;  // of managed memory
  Bytes fingerprinted = 0;             // bytes read by the kernel of fingerprints
  bool same_fingerprints = false;      // of all contents
  bool zero_fingerprints = false;      // likewise, those of zeros

 private:
  struct Physical {
    int fd = -1;
    Bytes size = 0;
    bool released = false;
    bool on_host = false;
    int mappings = 0;
  };
  struct Mapped {
    Bytes size = 0;
    CUmemGenericAllocationHandle handle = 0;
  };

  struct Copy {
    void* to = nullptr;
    const void* from = nullptr;  // null: zeros
    Bytes size = 0;
  };
  struct Event {
    std::size_t mark = 0;  // number of copies submitted before it was recorded
    bool lost = false;
  };
  struct Failure {
    int nth = 0;
    CUresult error = CUDA_SUCCESS;
    int times = 0;
  };

  static CUresult Enter(const char* name);
  // Performs the first `mark` copies, or drops those of them that are not done yet.
  void Finish(std::size_t mark, bool lose);
  void Drop(CUmemGenericAllocationHandle handle);

  static CUresult AddressReserve(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long);
  static CUresult AddressFree(CUdeviceptr, size_t);
  static CUresult Create(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*,
                         unsigned long long);
  static CUresult Release(CUmemGenericAllocationHandle);
  static CUresult Map(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
                      unsigned long long);
  static CUresult Unmap(CUdeviceptr, size_t);
  static CUresult SetAccess(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t);
  static CUresult CopyToHost(void*, CUdeviceptr, size_t, CUstream);
  static CUresult CopyToDevice(CUdeviceptr, const void*, size_t, CUstream);
  static CUresult CopyOnDevice(CUdeviceptr, CUdeviceptr, size_t, CUstream);
  static CUresult SetWords(CUdeviceptr, unsigned int, size_t, CUstream);
  static CUresult Prefetch(CUdeviceptr, size_t, CUdevice, CUstream);
  static CUresult StreamCreate(CUstream*, unsigned int);
  static CUresult StreamSynchronize(CUstream);
  static CUresult EventCreate(CUevent*, unsigned int);
  static CUresult EventDestroy(CUevent);
  static CUresult EventRecord(CUevent, CUstream);
  static CUresult EventSynchronize(CUevent);
  static CUresult HostAllocate(void**, size_t, unsigned int);
  static CUresult HostGetDevicePointer(CUdeviceptr*, void*, unsigned int);
  static CUresult HostRegister(void*, size_t, unsigned int);
  static CUresult HostUnregister(void*);
  static CUresult ModuleLoad(CUmodule*, const void*);
  static CUresult ModuleGetFunction(CUfunction*, CUmodule, const char*);
  static CUresult Launch(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
                         unsigned int, unsigned int, unsigned int, CUstream, void**, void**);

  static TestingDriver* the_;

  Driver driver_{};
  std::map<CUmemGenericAllocationHandle, Physical> physical_;
  std::map<CUdeviceptr, Mapped> mapped_;
  std::map<std::string, Failure> failures_;
  std::vector<std::vector<char>> host_memory_;
  std::vector<Copy> copies_;  // in submission order; the mover uses one stream
  std::size_t done_ = 0;
  std::map<CUevent, Event> events_;
  std::uintptr_t next_event_ = 0x3000;
  CUmemGenericAllocationHandle next_handle_ = 1;
  std::uintptr_t this_context_ = 0x1000;
};

}  // namespace reveza::swap::testing
