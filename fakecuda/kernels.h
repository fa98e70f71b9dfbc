// Built-in kernels, selected by name: those of reveza/cli/demo_worker/kernels.cu, of the doctor and
// of libreveza.so, as host functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fakecuda/state.h"

namespace fakecuda {

// Parameter values of a launch.
class Arguments {
 public:
  // Reads an array of pointers to values, or a packed buffer.
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

  // Returns the offset of each parameter in a packed buffer, followed by the buffer size.
  std::vector<std::size_t> Offsets() const;
};

// Returns nullptr for unknown names.
const Kernel* FindKernel(std::string_view name);
const std::vector<Kernel>& AllKernels();

}  // namespace fakecuda
