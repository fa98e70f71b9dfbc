// Which function a program gets when it asks for one of the driver: by dlsym (both of its symbol
// versions) or by cuGetProcAddress (both versions). The real resolver is asked first; its answer
// is replaced only if it is exactly an address that we wrap, or a call of the driver that is newer
// than our table. So version, flags and errors stay the driver's business.
//
// dlsym itself is a stub in assembler: what is not ours to decide it jumps to the real one with,
// so that the caller is still the caller (RTLD_NEXT and RTLD_DEFAULT depend on who asks).
//
// Not covered, on purpose: dlvsym, dlmopen's other namespaces, cuGetExportTable.
// Thread-safety: all functions from any thread, also before constructors have run.
#pragma once

#include <string_view>

namespace reveza::interpose {

// What to give for the driver's `answer` to a question for `name`.
void* ReplaceSymbol(const char* name, void* answer);
// The same for cuGetProcAddress, where `symbol` is a base name.
void* ReplaceProcAddress(const char* symbol, void* answer, bool per_thread);

}  // namespace reveza::interpose
