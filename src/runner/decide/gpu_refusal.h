// Whether a program failed because the GPU had no memory for it. All that is known is what it said
// last: weak evidence, because anybody may print such a line. A pure function.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace reveza::runner {

// The last line that says so in the words of CUDA, PyTorch, JAX, TensorFlow or CuPy; shortened to
// 200 letters.
std::optional<std::string> FindGpuRefusal(std::string_view last_lines);

}  // namespace reveza::runner
