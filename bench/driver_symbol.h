// A function of a loaded library as the library itself has it, whatever a preloaded library answers
// to dlsym.
#pragma once

namespace reveza::bench {

// nullptr: the library is not loaded, or exports no such function.
void* DriverSymbol(const char* library, const char* name);

}  // namespace reveza::bench
