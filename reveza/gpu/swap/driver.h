// Table of the driver calls that swapping needs: the driver's own entries, never our wrappers.
// Filled by interpose/, or by a test from fakecuda. Every function must be set but Prefetch.
#pragma once

#include <cuda.h>

namespace reveza::swap {

struct Driver {
  CUresult (*AddressReserve)(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long);
  CUresult (*AddressFree)(CUdeviceptr, size_t);
  CUresult (*Create)(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*,
                     unsigned long long);
  CUresult (*Release)(CUmemGenericAllocationHandle);
  CUresult (*Map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
  CUresult (*Unmap)(CUdeviceptr, size_t);
  CUresult (*SetAccess)(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t);
  CUresult (*CopyToHost)(void*, CUdeviceptr, size_t, CUstream);
  CUresult (*CopyToDevice)(CUdeviceptr, const void*, size_t, CUstream);
  CUresult (*CopyOnDevice)(CUdeviceptr, CUdeviceptr, size_t, CUstream);
  CUresult (*SetWords)(CUdeviceptr, unsigned int, size_t, CUstream);
  // To a device, or to CU_DEVICE_CPU; null: managed memory cannot be moved.
  CUresult (*Prefetch)(CUdeviceptr, size_t, CUdevice, CUstream);
  CUresult (*StreamCreate)(CUstream*, unsigned int);
  CUresult (*StreamDestroy)(CUstream);
  CUresult (*StreamSynchronize)(CUstream);
  CUresult (*EventCreate)(CUevent*, unsigned int);
  CUresult (*EventDestroy)(CUevent);
  CUresult (*EventRecord)(CUevent, CUstream);
  CUresult (*EventSynchronize)(CUevent);
  CUresult (*HostAllocate)(void**, size_t, unsigned int);
  CUresult (*HostGetDevicePointer)(CUdeviceptr*, void*, unsigned int);
  CUresult (*HostRegister)(void*, size_t, unsigned int);
  CUresult (*HostUnregister)(void*);
  CUresult (*ModuleLoad)(CUmodule*, const void*);
  CUresult (*ModuleGetFunction)(CUfunction*, CUmodule, const char*);
  CUresult (*Launch)(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
                     unsigned int, unsigned int, unsigned int, CUstream, void**, void**);
  CUresult (*ContextGetCurrent)(CUcontext*);
  CUresult (*ContextPushCurrent)(CUcontext);
  CUresult (*ContextPopCurrent)(CUcontext*);
  // The kernel of fingerprints.h for all GPUs; null: none.
  const void* fingerprint_image;
};

// Makes `context` current on this thread and restores the previous context on destruction, which
// may have been destroyed: it could not be made current again, but stays below on the stack. With
// null it does nothing.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, CUcontext context) : driver_(driver) {
    if (context == nullptr) return;
    CUcontext before = nullptr;
    driver_.ContextGetCurrent(&before);
    if (before == context) return;
    result_ = driver_.ContextPushCurrent(context);
    pushed_ = result_ == CUDA_SUCCESS;
  }
  ~CurrentContext() {
    CUcontext popped = nullptr;
    if (pushed_) driver_.ContextPopCurrent(&popped);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  CUresult result() const { return result_; }

 private:
  const Driver& driver_;
  CUresult result_ = CUDA_SUCCESS;
  bool pushed_ = false;
};

}  // namespace reveza::swap
