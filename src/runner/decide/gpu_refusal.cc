#include "runner/decide/gpu_refusal.h"

#include <algorithm>
#include <array>

namespace reveza::runner {
namespace {

constexpr std::array<std::string_view, 7> kWords = {
    "CUDA out of memory",                          // PyTorch
    "CUDA_ERROR_OUT_OF_MEMORY",                    // the driver's name for it
    "cudaErrorMemoryAllocation",                   // the runtime's
    "CUDA error: out of memory",                   // PyTorch, behind a call of its own
    "RESOURCE_EXHAUSTED: Out of",                  // JAX and TensorFlow
    "OutOfMemoryError: Out of memory allocating",  // CuPy
    "torch.OutOfMemoryError",
};
constexpr std::size_t kLongest = 200;

}  // namespace

std::optional<std::string> FindGpuRefusal(std::string_view last_lines) {
  while (!last_lines.empty()) {
    const std::size_t end = last_lines.find_last_of('\n');
    const std::size_t begin = end == std::string_view::npos ? 0 : end + 1;
    const std::string_view line = last_lines.substr(begin);
    if (std::ranges::any_of(kWords, [&](std::string_view words) { return line.contains(words); })) {
      return std::string(line.substr(0, kLongest));
    }
    last_lines = last_lines.substr(0, begin == 0 ? 0 : begin - 1);
  }
  return std::nullopt;
}

}  // namespace reveza::runner
