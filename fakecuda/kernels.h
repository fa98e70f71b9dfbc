// The kernels that the fake card knows, by name: tests/kernels/kernels.cu, and the doctor's
// own, as host functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "state.h"

namespace fakecuda {

// The values of a kernel's parameters.
class Arguments {
 public:
  // From an array of pointers to values, and from one packed buffer.
  Arguments(const Kernel& kernel, void* const* pointers);
  Arguments(const Kernel& kernel, const void* buffer, std::size_t bytes);
  bool complete() const { return complete_; }
  template <typename Value>
  Value Get(std::size_t index) const {
    Value value;
    __builtin_memcpy(&value, bytes_.data() + offsets_[index], sizeof value);
    return value;
  }

 private:
  std::vector<unsigned char> bytes_;
  std::vector<std::size_t> offsets_;
  bool complete_ = true;
};

struct Kernel {
  const char* name;
  std::vector<std::size_t> parameter_sizes;
  CUresult (*run)(Execution&, const Arguments&);

  // Where each parameter lies in a packed buffer, and the buffer's size at the end.
  std::vector<std::size_t> Offsets() const;
};

// Null when there is none of that name.
const Kernel* FindKernel(std::string_view name);
const std::vector<Kernel>& AllKernels();

}  // namespace fakecuda
