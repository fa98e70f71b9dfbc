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

// Marks the driver as initialised. A child forked later cannot use it.
void MarkInitialised();

}  // namespace fakecuda
