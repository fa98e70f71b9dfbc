#include "reveza/gpu/interpose/resolver.h"

#include <dlfcn.h>

#include "reveza/gpu/interpose/entries.h"
#include "reveza/gpu/interpose/real_driver.h"

// Called by the stub for names of the form "cu" and a capital letter, never with RTLD_NEXT. If it
// returns kAskAsCaller, the stub jumps to the real dlsym.
extern "C" __attribute__((visibility("hidden"))) void* reveza_dlsym_filter(void* handle,
                                                                           const char* name);

namespace reveza::interpose {
namespace {

void* const kAskAsCaller = reinterpret_cast<void*>(-1);

bool IsOurs(const Entry* entry, const void* address) {
  return entry != nullptr && entry->wrapper != nullptr && entry->wrapper == address;
}

void* ReplaceUnknown(const char* name, void* answer) {
  if (!IsInDriver(answer)) return answer;
  return IsPassed(name) ? GuardPassedCall(answer, name) : GateUnknownCall(answer, name);
}

void* Replace(const char* name, void* answer, bool per_thread) {
  if (answer == nullptr || !DriverIsLoaded() || IsDisabled()) return answer;
  if (const Entry* entry = FindEntryAt(answer, BaseOf(name), per_thread)) {
    return entry->wrapper != nullptr ? entry->wrapper : answer;
  }
  return ReplaceUnknown(name, answer);
}

// Replaces the answer of the driver's cuGetProcAddress. Returns `result`.
CUresult ReplaceAnswer(CUresult result, const char* symbol, void** function, cuuint64_t flags) {
  if (result == CUDA_SUCCESS && function != nullptr) {
    const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    *function = ReplaceProcAddress(symbol, *function, per_thread);
  }
  return result;
}

}  // namespace

void* ReplaceSymbol(const char* name, void* answer) {
  const Entry* entry = FindEntry(name);
  if (IsOurs(entry, answer)) return answer;
  if (entry != nullptr && entry->wrapper != nullptr && AddressOf(*entry) == answer &&
      !IsDisabled()) {
    return entry->wrapper;
  }
  return Replace(name, answer, entry != nullptr && entry->per_thread);
}

void* ReplaceProcAddress(const char* symbol, void* answer, bool per_thread) {
  if (symbol == nullptr || !LooksLikeDriverCall(symbol)) return answer;
  return Replace(symbol, answer, per_thread);
}

}  // namespace reveza::interpose

void* reveza_dlsym_filter(void* handle, const char* name) {
  using namespace reveza::interpose;
  // First, since it changes the state of dlerror, which must be that of the real dlsym.
  DriverIsLoaded();
  void* answer = RealDlsym()(handle, name);
  if (answer == nullptr) {
    // From here RTLD_DEFAULT covers only the global scope, not the local scope of the caller.
    return handle == RTLD_DEFAULT ? kAskAsCaller : nullptr;
  }
  const Entry* entry = FindEntry(name);
  if (IsOurs(entry, answer) && AddressOf(*entry) == nullptr) {
    // Found only because this library is preloaded: there is no driver, or it lacks this call.
    // Resolve as if we were not loaded.
    return RealDlsym()(RTLD_NEXT, name);
  }
  return ReplaceSymbol(name, answer);
}

extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI
cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  using namespace reveza::interpose;
  const DriverCalls& real = Real();
  if (real.cuGetProcAddress == nullptr) return CUDA_ERROR_NOT_FOUND;
  return ReplaceAnswer(real.cuGetProcAddress(symbol, function, version, flags), symbol, function,
                       flags);
}

extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI
cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult* status) {
  using namespace reveza::interpose;
  const DriverCalls& real = Real();
  if (real.cuGetProcAddress_v2 == nullptr) return CUDA_ERROR_NOT_FOUND;
  return ReplaceAnswer(real.cuGetProcAddress_v2(symbol, function, version, flags, status), symbol,
                       function, flags);
}
