// Generated table of driver entries.
#pragma once

namespace fakecuda {

struct Entry {
  const char* name;  // the exported symbol: cuMemcpyHtoD_v2_ptds
  const char* base;  // name for cuGetProcAddress: cuMemcpyHtoD
  int version;       // CUDA version since which cuGetProcAddress returns it
  bool per_thread;   // variant for per-thread default streams
  void* function;
};

extern const Entry kEntries[];
extern const int kEntryCount;

extern const char* const kEntryNames[];
extern const int kEntryNameCount;

struct ResultName {
  int result;
  const char* name;  // nullptr terminates the list
};
extern const ResultName kResultNames[];

}  // namespace fakecuda
