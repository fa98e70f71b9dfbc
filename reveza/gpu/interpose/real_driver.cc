#include "reveza/gpu/interpose/real_driver.h"

#include <dlfcn.h>
#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>

#include "reveza/gpu/interpose/entries.h"

// Sanitizer runtimes call dlsym before they can run instrumented code.
#define REVEZA_UNINSTRUMENTED \
  __attribute__((visibility("hidden"), no_sanitize("address", "thread", "undefined")))

extern "C" {
// Read by the assembler stub of dlsym.
__attribute__((visibility("hidden"))) void* reveza_real_dlsym = nullptr;
REVEZA_UNINSTRUMENTED void* reveza_find_real_dlsym();
}

namespace reveza::interpose {

namespace internal {
constinit DriverCalls driver_calls;
constinit std::atomic<bool> driver_found = false;
constinit bool disabled = false;
}  // namespace internal

namespace {

// Process id of the writer of driver_calls. If a fork happens during the write, the writing thread
// exists only in the parent, and a thread of the child may start over.
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
  // RTLD_NOLOAD finds it by its soname, whatever path it was opened with. The reference is kept,
  // since functions handed out must stay mapped.
  void* handle = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) {
    dlerror();  // hide our failure from the program
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

// Uses dlvsym, since dlsym is what it looks for.
void* reveza_find_real_dlsym() {
  void* real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (real == nullptr) real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");   // aarch64
  if (real == nullptr) real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");  // x86-64
  if (real == nullptr) abort();  // cannot happen: no supported C library lacks dlsym
  __atomic_store_n(&reveza_real_dlsym, real, __ATOMIC_RELAXED);
  return real;
}
