// The real driver and the real dlsym, found when they are first needed and never before.
// Thread-safety: all functions from any thread, also before this library's relocations of others
// have run their constructors, and in the child of a fork.
#pragma once

#include "interpose/driver_calls.h"

namespace reveza::interpose {

namespace internal {
extern bool disabled;  // written before driver_found is
}  // namespace internal

// REVEZA_DISABLE=1 in the environment. Valid once Real() has found the driver.
inline bool IsDisabled() { return internal::disabled; }

using Dlsym = void* (*)(void* handle, const char* name);
// The next dlsym after ours: the C library's, or that of another preloaded library.
Dlsym RealDlsym();

// Whether Real() has a driver. Looks for one.
bool DriverIsLoaded();
// Whether `address` lies in libcuda.so.1's own mapping.
bool IsInDriver(const void* address);

}  // namespace reveza::interpose
