// What the fake driver counted, for tests: found by dlsym in libcuda.so.1.
#pragma once

extern "C" {

// A counter of this process, or with "all." before it of all processes of the FAKECUDA_DIR:
//   bytes_to_device, bytes_from_device, bytes_on_device (only all.), resident, peak, mappings (not
//   all.), calls, processes (only all.), and any entry by name, with or without version.
// What has no such name is 0.
unsigned long long fakecudaCounter(const char* name);

// Sets the calls and bytes, and the peaks to what is used now.
void fakecudaReset();
}
