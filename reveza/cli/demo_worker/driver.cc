#include "reveza/cli/demo_worker/driver.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <type_traits>

#include "common/platform/shared_library.h"

namespace reveza::clients {
namespace {

#define REVEZA_STRING(text) #text
#define REVEZA_EXPANDED_STRING(text) REVEZA_STRING(text)

// Both versions: drivers before CUDA 12.0 ignore the last argument.
using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t,
                                    CUdriverProcAddressQueryResult*);

// The version whose prototypes the calls of driver.h have: with 13.0, "cuCtxSynchronize" is a call
// that takes a context.
constexpr int kVersion = 12050;

template <typename Function>
void Ask(GetProcAddress ask, cuuint64_t flags, const char* name, Function* function) {
  void* entry = nullptr;
  CUdriverProcAddressQueryResult status{};
  const CUresult result = ask(name, &entry, kVersion, flags, &status);
  if (result != CUDA_SUCCESS || entry == nullptr) {
    Die(std::string("cuGetProcAddress does not know ") + name);
  }
  *function = reinterpret_cast<Function>(entry);
}

template <typename Function>
void Find(const platform::SharedLibrary& library, const char* name, Function** function) {
  *function = library.Symbol<Function>(name);
  if (*function == nullptr) Die(std::string("the driver has no ") + name);
}

}  // namespace

#ifndef REVEZA_CLIENT_DIRECT
Resolve Driver::Default() { return Resolve::kGetProcAddress; }

Driver LinkedDriver() { Die("this program is not linked to the driver"); }
#else
Driver LinkedDriver();
#endif

Driver Driver::Load(Resolve how) {
  if (how == Resolve::kDirect) return LinkedDriver();
  Driver driver;
  const auto library =
      platform::SharedLibrary::Open("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (!library) Die("no CUDA driver: " + library.error().message);
  if (how == Resolve::kDlsym) {
#define REVEZA_FIND(name) Find(*library, REVEZA_EXPANDED_STRING(name), &driver.name);
    REVEZA_CLIENT_CALLS(REVEZA_FIND)
#undef REVEZA_FIND
    return driver;
  }
  auto* ask = library->Symbol<std::remove_pointer_t<GetProcAddress>>("cuGetProcAddress_v2");
  if (ask == nullptr) Find(*library, "cuGetProcAddress", &ask);
  const cuuint64_t flags = how == Resolve::kPerThread
                               ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                               : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
#define REVEZA_ASK(name) Ask(ask, flags, #name, &driver.name);
  REVEZA_CLIENT_CALLS(REVEZA_ASK)
#undef REVEZA_ASK
  return driver;
}

void CheckCall(const Driver& driver, CUresult result, const char* what, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  if (driver.cuGetErrorName == nullptr || driver.cuGetErrorName(result, &name) != CUDA_SUCCESS ||
      name == nullptr) {
    name = "an unknown error";
  }
  Die(std::string(what) + " (line " + std::to_string(line) + ") failed: " + name + " (" +
      std::to_string(static_cast<int>(result)) + ")");
}

void Die(const std::string& message) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, message.c_str());
  std::fflush(nullptr);
  _exit(1);
}

}  // namespace reveza::clients
