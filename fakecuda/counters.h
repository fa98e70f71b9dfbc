// Counters of the fake driver for tests; look up with dlsym in libcuda.so.1.
#pragma once

extern "C" {

// Returns a counter of this process, or with prefix "all." of all processes of the FAKECUDA_DIR:
//   bytes_to_device, bytes_from_device, bytes_on_device (only all.), resident, peak, mappings and
//   on_host (memory of host NUMA nodes), managed (memory of cuMemAllocManaged that is on devices),
//   faults (its pages that work of a device had to wait for; none of these three with all.), calls,
//   processes (only all.), and any entry by name, with or without version.
// Unknown names return 0.
unsigned long long fakecudaCounter(const char* name);

// Resets call and byte counters to 0, and peaks to the present use.
void fakecudaReset();
}
