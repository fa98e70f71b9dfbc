#include "interpose/real_driver.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>

#include "interpose/entries.h"

// A sanitizer's runtime asks dlsym before it is ready for code that it has instrumented.
#define REVEZA_BEFORE_ALL \
  __attribute__((visibility("hidden"), no_sanitize("address", "thread", "undefined")))

extern "C" {
// Read by the assembler stub of dlsym.
__attribute__((visibility("hidden"))) void* reveza_real_dlsym = nullptr;
REVEZA_BEFORE_ALL void* reveza_find_real_dlsym();
}

namespace reveza::interpose {

namespace internal {
constinit DriverCalls driver_calls;
constinit std::atomic<bool> driver_found = false;
constinit bool disabled = false;
}  // namespace internal

namespace {

// Who writes driver_calls. A process id, because the writer may be a thread that a fork has left
// behind in the parent: then another may begin again.
constinit std::atomic<pid_t> writer = 0;
constinit const void* driver_base = nullptr;

bool ClaimWriting() {
  const pid_t self = getpid();
  for (;;) {
    pid_t holder = writer.load(std::memory_order_relaxed);
    if (internal::driver_found.load(std::memory_order_acquire)) return false;
    if (holder != self && writer.compare_exchange_strong(holder, self)) return true;
    if (holder == self) sched_yield();
  }
}

const void* BaseAddress(const void* address) {
  Dl_info info;
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

}  // namespace

const DriverCalls& internal::FindDriver() {
  // RTLD_NOLOAD finds it by its soname, under whatever path it was opened. The reference is kept:
  // what we hand out must not be unmapped.
  void* handle = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) {
    dlerror();  // a program must not find our failure in it
    return driver_calls;
  }
  DriverCalls found;
  for (const Entry& entry : Entries()) {
    void* address = RealDlsym()(handle, entry.symbol);
    *reinterpret_cast<void**>(reinterpret_cast<char*>(&found) + entry.offset) = address;
  }
  dlerror();
  if (ClaimWriting()) {
    const char* value = getenv("REVEZA_DISABLE");
    disabled = value != nullptr && value[0] == '1' && value[1] == '\0';
    driver_base = BaseAddress(reinterpret_cast<const void*>(found.cuInit));
    driver_calls = found;
    driver_found.store(true, std::memory_order_release);
  } else {
    dlclose(handle);
  }
  return driver_calls;
}

Dlsym RealDlsym() {
  void* real = __atomic_load_n(&reveza_real_dlsym, __ATOMIC_RELAXED);
  if (real == nullptr) real = reveza_find_real_dlsym();
  return reinterpret_cast<Dlsym>(real);
}

bool DriverIsLoaded() {
  Real();
  return internal::driver_found.load(std::memory_order_acquire);
}

bool IsInDriver(const void* address) {
  return DriverIsLoaded() && driver_base != nullptr && BaseAddress(address) == driver_base;
}

}  // namespace reveza::interpose

// By dlvsym, since dlsym is what we are looking for.
void* reveza_find_real_dlsym() {
  void* real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (real == nullptr) real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");   // aarch64
  if (real == nullptr) real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");  // x86-64
  if (real == nullptr) abort();  // no C library that we could have been loaded with
  __atomic_store_n(&reveza_real_dlsym, real, __ATOMIC_RELAXED);
  return real;
}
