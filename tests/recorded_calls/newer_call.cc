// Makes one call that is newer than the table, of a driver that has it (testing/mini_cuda.cc).
#include <dlfcn.h>

#include <cstddef>

int main() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return 2;
  const auto call = reinterpret_cast<int (*)(unsigned long long*, std::size_t, int)>(
      dlsym(driver, "cuMemAlloc_v9"));
  if (call == nullptr) return 2;
  unsigned long long address = 0;
  call(&address, 64, 0);
  return 0;
}
