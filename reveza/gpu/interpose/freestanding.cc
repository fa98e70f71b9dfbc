// Replacements for the parts of libstdc++ and libsupc++ that libreveza.so uses, so that it links
// neither: a preloaded library with its own C++ runtime would require newer libraries than the
// programs have. Only in the preloaded library; test programs use the real runtime.
#include <sched.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

[[noreturn]] void Die(const char* what) {
  static constexpr char kPrefix[] = "reveza: ";
  // write() does not allocate.
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, kPrefix, sizeof kPrefix - 1);
  written = write(STDERR_FILENO, what, strlen(what));
  written = write(STDERR_FILENO, "\n", 1);
  abort();
}

void* Allocate(std::size_t size) {
  void* memory = malloc(size != 0 ? size : 1);
  if (memory == nullptr) Die("out of host memory");
  return memory;
}

void* AllocateAligned(std::size_t size, std::align_val_t alignment) {
  void* memory = nullptr;
  const std::size_t minimum = sizeof(void*);
  const std::size_t wanted = static_cast<std::size_t>(alignment);
  if (posix_memalign(&memory, wanted < minimum ? minimum : wanted, size != 0 ? size : 1) != 0) {
    Die("out of host memory");
  }
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return malloc(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return malloc(size); }
void* operator new(std::size_t size, std::align_val_t at) { return AllocateAligned(size, at); }
void* operator new[](std::size_t size, std::align_val_t at) { return AllocateAligned(size, at); }
void operator delete(void* memory) noexcept { free(memory); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete(void* memory, std::size_t) noexcept { free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { free(memory); }

// Called by library headers instead of throwing.
namespace std {
[[noreturn]] void __throw_length_error(const char* what) { Die(what); }
[[noreturn]] void __throw_out_of_range(const char* what) { Die(what); }
[[noreturn]] void __throw_out_of_range_fmt(const char* what, ...) { Die(what); }
[[noreturn]] void __throw_logic_error(const char* what) { Die(what); }
[[noreturn]] void __throw_invalid_argument(const char* what) { Die(what); }
[[noreturn]] void __throw_bad_alloc() { Die("out of host memory"); }
[[noreturn]] void __throw_bad_array_new_length() { Die("out of host memory"); }
[[noreturn]] void __throw_bad_function_call() { Die("empty std::function called"); }
[[noreturn]] void __throw_bad_optional_access() { Die("empty std::optional accessed"); }
[[noreturn]] void __throw_system_error(int) { Die("thread primitive failed"); }
}  // namespace std

extern "C" {

[[noreturn]] void __cxa_pure_virtual() { Die("pure virtual function called"); }

// Guards of function-local statics. By the ABI the first byte means "initialised"; the second is
// ours and means "initialisation in progress".
int __cxa_guard_acquire(std::uint64_t* guard) {
  char* const done = reinterpret_cast<char*>(guard);
  for (;;) {
    if (__atomic_load_n(done, __ATOMIC_ACQUIRE) != 0) return 0;
    char unlocked = 0;
    if (__atomic_compare_exchange_n(done + 1, &unlocked, 1, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      // Another thread may have finished between the load and the exchange.
      if (__atomic_load_n(done, __ATOMIC_ACQUIRE) == 0) return 1;
      __atomic_store_n(done + 1, 0, __ATOMIC_RELEASE);
      return 0;
    }
    sched_yield();
  }
}

void __cxa_guard_release(std::uint64_t* guard) {
  char* const done = reinterpret_cast<char*>(guard);
  __atomic_store_n(done, 1, __ATOMIC_RELEASE);
  __atomic_store_n(done + 1, 0, __ATOMIC_RELEASE);
}

}  // extern "C"
