// Resolves driver symbols for the program: dlsym and cuGetProcAddress, in both versions each. The
// real resolver is called first; its result is replaced only if it is exactly an address that we
// wrap, or a driver call newer than our table. Versions, flags and errors remain the driver's.
//
// dlsym is an assembler stub: for all other symbols it jumps to the real dlsym with the caller's
// return address in place, because RTLD_NEXT and RTLD_DEFAULT depend on the caller.
//
// Deliberately not covered: dlvsym, other namespaces (dlmopen), cuGetExportTable.
// Thread-safe, also before constructors have run.
#pragma once

#include <cstddef>

namespace reveza::interpose {

// Returns the function to hand out for `name`, which the real dlsym resolved to `answer`.
void* ReplaceSymbol(const char* name, void* answer);
// The same for cuGetProcAddress, where `symbol` is a base name.
void* ReplaceProcAddress(const char* symbol, void* answer, bool per_thread);

// ---- unknown_calls.cc: calls of a driver newer than our table. The program gets a thunk that
// takes the gate and disables swapping for this process, since the effect of the call on memory is
// unknown. ----

// Maximum number of thunks; further unknown calls are passed to the driver directly.
inline constexpr std::size_t kMaxUnknownCalls = 512;

// Returns a thunk for `real`, which the program knows as `name`; always the same one for the same
// `real`. If none is left, disables swapping and returns `real`.
void* GateUnknownCall(void* real, const char* name);

// Returns a thunk for a call that is passed, but has no wrapper, because it is newer than our table
// or not in cuda.h: it waits while the contexts are off the card, and keeps them there from then
// on, since it holds no guard during the call.
void* GuardPassedCall(void* real, const char* name);

// Keeps the contexts of the process on the card from now on. Called by each of those thunks, and
// before calls that share memory or events with other processes, inside a ContextGuard or the gate.
// Defined in client.cc.
void KeepContexts();

// Called by each other thunk; disables swapping, with one warning. Defined in client.cc.
void OnUnknownCall(const char* name);

}  // namespace reveza::interpose
