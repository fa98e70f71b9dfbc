// The generated list of the driver's entries.
#pragma once

namespace fakecuda {

struct Entry {
  const char* name;  // the exported symbol: cuMemcpyHtoD_v2_ptds
  const char* base;  // as cuGetProcAddress is asked: cuMemcpyHtoD
  int version;       // the CUDA version since which it is the answer
  bool per_thread;   // a twin for per-thread default streams
  void* function;
};

extern const Entry kEntries[];
extern const int kEntryCount;

extern const char* const kEntryNames[];
extern const int kEntryNameCount;

struct ResultName {
  int result;
  const char* name;  // null at the end of the list
};
extern const ResultName kResultNames[];

}  // namespace fakecuda
