// For tests: forbids opening descriptors during the lifetime of the object. Open ones stay usable.
#pragma once

#include <sys/resource.h>

#include <cstdlib>

namespace reveza::platform {

class NoDescriptors {
 public:
  NoDescriptors() {
    if (getrlimit(RLIMIT_NOFILE, &before_) != 0) std::abort();
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) std::abort();
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace reveza::platform
