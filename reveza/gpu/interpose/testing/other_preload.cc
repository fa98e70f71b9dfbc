// Another preloaded library that wraps the same names.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#define OTHER_EXPORT extern "C" __attribute__((visibility("default")))

OTHER_EXPORT void* dlsym(void* handle, const char* name) noexcept {
  using Dlsym = void* (*)(void*, const char*);
  static const auto next = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34"));
  if (strcmp(name, "cuMemcpy") == 0) printf("other saw %s\n", name);
  return next(handle, name);
}

OTHER_EXPORT int cuMemcpy(unsigned long long to, unsigned long long from, unsigned long bytes) {
  using Copy = int (*)(unsigned long long, unsigned long long, unsigned long);
  printf("other copies\n");
  return reinterpret_cast<Copy>(dlsym(RTLD_NEXT, "cuMemcpy"))(to, from, bytes);
}
