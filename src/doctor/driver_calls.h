// CUDA's driver, called by name: the doctor is built without it. Thread-safety: none.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

namespace reveza::doctor {

// Calls by name, and remembers the first that failed.
class DriverCalls {
 public:
  // `library` as dlopen gave it.
  explicit DriverCalls(void* library) : library_(library) {}

  template <typename Function, typename... Arguments>
  bool Call(const char* name, Arguments... arguments) {
    auto* function = reinterpret_cast<Function*>(dlsym(library_, name));
    const CUresult result = function == nullptr ? CUDA_ERROR_NOT_FOUND : function(arguments...);
    if (result != CUDA_SUCCESS && failed_ == nullptr) {
      failed_ = name;
      result_ = result;
    }
    return result == CUDA_SUCCESS;
  }

  bool failed() const { return failed_ != nullptr; }
  // "cuInit says error 100"
  std::string Failure() const {
    return fmt::format("{} says error {}", failed_, static_cast<int>(result_));
  }

 private:
  void* library_;
  const char* failed_ = nullptr;
  CUresult result_ = CUDA_SUCCESS;
};

#define REVEZA_CALL(driver, name, ...) (driver).Call<decltype(name)>(#name, __VA_ARGS__)

}  // namespace reveza::doctor
