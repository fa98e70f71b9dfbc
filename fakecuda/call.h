// What every entry does first: is the driver there, is this call told to fail, count it.
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

  // Names the entry on stderr, once.
  static CUresult NotSupported(int entry);

 private:
  CUresult result_ = CUDA_SUCCESS;
  bool before_ = false;
};

// How often this process made the call; nothing of the name: 0.
unsigned long long CallsOf(const char* name);
void ResetCalls();

// The driver has been initialised; before a fork that makes the child unable to use it.
void MarkInitialised();

}  // namespace fakecuda
