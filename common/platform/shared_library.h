// A shared library that is loaded at run time, so that programs also start on machines without it.
// Thread-safe, like dlsym().
#pragma once

#include <dlfcn.h>

#include <memory>
#include <string>

#include "common/base/error.h"

namespace reveza::platform {

class SharedLibrary {
 public:
  // Loads `name`, a path or a name to search for, with flags of dlopen(). kUnavailable, with the
  // text of dlerror(), if that fails.
  static Result<SharedLibrary> Open(const std::string& name, int flags = RTLD_NOW | RTLD_LOCAL) {
    SharedLibrary library;
    library.handle_.reset(dlopen(name.c_str(), flags));
    if (library.handle_) return library;
    const char* reason = dlerror();
    return Fail(Error::Code::kUnavailable, reason != nullptr ? reason : "unknown error");
  }

  // Returns the function of that name; null if the library lacks it. Only the type of a declaration
  // is used, as in Symbol<decltype(cuInit)>("cuInit"): nothing is linked against the library.
  template <typename Function>
  Function* Symbol(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_.get(), name));
  }

 private:
  struct Close {
    void operator()(void* handle) const { dlclose(handle); }
  };
  std::unique_ptr<void, Close> handle_;
};

// Loads CUDA's driver for the rest of the process: it leaves threads behind.
inline Result<SharedLibrary> OpenCudaDriver(const std::string& name = "libcuda.so.1") {
  return SharedLibrary::Open(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

}  // namespace reveza::platform
