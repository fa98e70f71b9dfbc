// What libreveza.so needs of libstdc++ and libsupc++, so that it links neither: a preloaded library
// that brings its own C++ runtime needs newer C libraries than its programs have.
// Only in the preloaded library; programs that link the same code have the real things.
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
  // One line, by the only means that cannot fail for want of memory.
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
  const std::size_t least = sizeof(void*);
  const std::size_t wanted = static_cast<std::size_t>(alignment);
  if (posix_memalign(&memory, wanted < least ? least : wanted, size != 0 ? size : 1) != 0) {
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

// What the headers of containers call where they would throw.
namespace std {
[[noreturn]] void __throw_length_error(const char* what) { Die(what); }
[[noreturn]] void __throw_out_of_range(const char* what) { Die(what); }
[[noreturn]] void __throw_out_of_range_fmt(const char* what, ...) { Die(what); }
[[noreturn]] void __throw_logic_error(const char* what) { Die(what); }
[[noreturn]] void __throw_invalid_argument(const char* what) { Die(what); }
[[noreturn]] void __throw_bad_alloc() { Die("out of host memory"); }
[[noreturn]] void __throw_bad_array_new_length() { Die("out of host memory"); }
[[noreturn]] void __throw_bad_function_call() { Die("an empty function was called"); }
[[noreturn]] void __throw_bad_optional_access() { Die("an empty value was read"); }
[[noreturn]] void __throw_system_error(int) { Die("a thread primitive failed"); }
}  // namespace std

extern "C" {

[[noreturn]] void __cxa_pure_virtual() { Die("a function of no class was called"); }

// Of a function's static variable. By the ABI the first byte says that it is initialised; the
// second is ours: somebody is at it.
int __cxa_guard_acquire(std::uint64_t* guard) {
  char* const done = reinterpret_cast<char*>(guard);
  for (;;) {
    if (__atomic_load_n(done, __ATOMIC_ACQUIRE) != 0) return 0;
    char nobody = 0;
    if (__atomic_compare_exchange_n(done + 1, &nobody, 1, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      // The one before us may have finished between the two.
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
