// The real driver and the real dlsym, looked up on first use.
// Thread-safe, also before constructors have run and in a forked child.
#pragma once

#include "generated/interpose/driver_calls.h"

namespace reveza::interpose {

namespace internal {
extern bool disabled;  // written before driver_found
}  // namespace internal

// Returns whether REVEZA_DISABLE=1 is set. Valid once Real() has found the driver.
inline bool IsDisabled() { return internal::disabled; }

using Dlsym = void* (*)(void* handle, const char* name);
// Returns the next dlsym after ours: the C library's, or that of another preloaded library.
Dlsym RealDlsym();

// Looks for the driver and returns whether Real() has found it.
bool DriverIsLoaded();
// Returns whether `address` lies in the mapping of libcuda.so.1.
bool IsInDriver(const void* address);

}  // namespace reveza::interpose
