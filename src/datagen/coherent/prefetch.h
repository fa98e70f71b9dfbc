// Brings a line of memory nearer to the processor before it is needed.
#pragma once

namespace reveza::datagen::coherent {

// The empty instruction tells the compiler that something is done here. Without it GCC takes a
// function that only prefetches for one without effect, and drops the call.
inline void PrefetchLine(const void* address) {
  __builtin_prefetch(address);
  asm volatile("" : : "r"(address));
}

}  // namespace reveza::datagen::coherent
