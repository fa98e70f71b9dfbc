// A GPU for the tests of this room: address space is real address space, physical memory is
// memfds mapped into it, so that a test reads and writes "GPU memory" through the address itself
// and an unmapped access is a crash. Copies are as late as they may be: done when somebody waits
// for them. A wait that fails has lost the copies that it waited for.
#pragma once

#include <cuda.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "swap/driver.h"

namespace reveza::swap::testing {

class TestingDriver {
 public:
  // One at a time: the driver's calls are plain functions and find it through a static pointer.
  explicit TestingDriver(Bytes capacity);
  ~TestingDriver();
  TestingDriver(const TestingDriver&) = delete;
  TestingDriver& operator=(const TestingDriver&) = delete;

  const Driver& driver() const { return driver_; }
  CUcontext context() const { return reinterpret_cast<CUcontext>(this_context_); }

  // The `nth` call of `name` from now on (1: the next), and as many as `times` in all, answers
  // `error`.
  void FailCall(const std::string& name, int nth, CUresult error, int times = 1);

  // Called when somebody waits for a copy (EventSynchronize), with nobody's lock held.
  std::function<void()> while_copying;

  // Physical memory that exists: created, and not both released and unmapped everywhere.
  Bytes in_use() const;
  Bytes bytes_out = 0;  // device to host
  Bytes bytes_in = 0;   // host to device
  std::map<std::string, int> calls;
  int registered = 0;  // host ranges

 private:
  struct Physical {
    int fd = -1;
    Bytes size = 0;
    bool released = false;
    int mappings = 0;
  };
  struct Mapped {
    Bytes size = 0;
    CUmemGenericAllocationHandle handle = 0;
  };

  struct Copy {
    void* to = nullptr;
    const void* from = nullptr;
    Bytes size = 0;
  };
  struct Event {
    std::size_t mark = 0;  // the copies before it were submitted before it was recorded
    bool lost = false;
  };
  struct Failure {
    int nth = 0;
    CUresult error = CUDA_SUCCESS;
    int times = 0;
  };

  static CUresult Enter(const char* name);
  // Does the first `mark` copies, or loses those of them that are not done yet.
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
  static CUresult StreamCreate(CUstream*, unsigned int);
  static CUresult StreamSynchronize(CUstream);
  static CUresult EventCreate(CUevent*, unsigned int);
  static CUresult EventDestroy(CUevent);
  static CUresult EventRecord(CUevent, CUstream);
  static CUresult EventSynchronize(CUevent);
  static CUresult HostRegister(void*, size_t, unsigned int);
  static CUresult HostUnregister(void*);

  static TestingDriver* the_;

  const Bytes capacity_;
  Driver driver_{};
  std::map<CUmemGenericAllocationHandle, Physical> physical_;
  std::map<CUdeviceptr, Mapped> mapped_;
  std::map<std::string, Failure> failures_;
  std::vector<Copy> copies_;  // in order; one stream is enough for the mover
  std::size_t done_ = 0;
  std::map<CUevent, Event> events_;
  std::uintptr_t next_event_ = 0x3000;
  CUmemGenericAllocationHandle next_handle_ = 1;
  std::uintptr_t this_context_ = 0x1000;
};

}  // namespace reveza::swap::testing
