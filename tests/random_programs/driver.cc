#include "tests/random_programs/driver.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

namespace reveza::random_programs {
namespace {

#define RANDOM_PROGRAMS_TEXT(text) #text
#define RANDOM_PROGRAMS_NAME(text) RANDOM_PROGRAMS_TEXT(text)

// The version whose prototypes the calls of cuda.h have.
constexpr int kVersion = 12050;

[[noreturn]] void Missing(const char* what) {
  std::fprintf(stderr, "random_program: the driver has no %s\n", what);
  _exit(3);
}

template <typename Function>
void Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function == nullptr) Missing(name);
}

template <typename Function>
void Ask(decltype(&::cuGetProcAddress) ask, cuuint64_t flags, const char* name,
         Function* function) {
  void* entry = nullptr;
  CUdriverProcAddressQueryResult status{};
  if (ask(name, &entry, kVersion, flags, &status) != CUDA_SUCCESS || entry == nullptr) {
    Missing(name);
  }
  *function = reinterpret_cast<Function>(entry);
}

}  // namespace

Driver LoadDriver(Resolve how) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (library == nullptr) Missing("libcuda.so.1");
  Driver driver;
  if (how == Resolve::kDlsym) {
#define RANDOM_PROGRAMS_FIND(name) Find(library, RANDOM_PROGRAMS_NAME(name), &driver.name);
    RANDOM_PROGRAMS_CALLS(RANDOM_PROGRAMS_FIND)
#undef RANDOM_PROGRAMS_FIND
    return driver;
  }
  decltype(&::cuGetProcAddress) ask = nullptr;
  Find(library, "cuGetProcAddress_v2", &ask);
  const cuuint64_t flags = how == Resolve::kPerThread
                               ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                               : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
#define RANDOM_PROGRAMS_ASK(name) Ask(ask, flags, #name, &driver.name);
  RANDOM_PROGRAMS_CALLS(RANDOM_PROGRAMS_ASK)
#undef RANDOM_PROGRAMS_ASK
  return driver;
}

}  // namespace reveza::random_programs
