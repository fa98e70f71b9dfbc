// Prologue of every entry: checks that the driver is initialised, injects failures, counts the
// call.
#pragma once

#include <cuda.h>

namespace fakecuda {

class Call {
 public:
  Call(int entry, bool per_thread);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  bool proceeds() const { return result_ == CUDA_SUCCESS; }
  CUresult result() const { return result_; }

  // Reports the entry on stderr, once per process.
  static CUresult NotSupported(int entry);

 private:
  CUresult result_ = CUDA_SUCCESS;
  const int entry_;
  bool inside_ = false;
  bool previous_per_thread_ = false;
};

// Returns the location that older entries name by a device, or by CU_DEVICE_CPU.
inline CUmemLocation LocationOf(CUdevice device) {
  CUmemLocation location{};
  location.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  return location;
}

// Marks the driver as initialised. A child forked later cannot use it.
void MarkInitialised();

}  // namespace fakecuda
