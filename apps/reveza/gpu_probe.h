// Which GPUs the driver gives to a program, asked in a child process: the command line itself
// never becomes a CUDA program. Thread-safety: none (it forks).
#pragma once

#include <optional>
#include <string>

#include "base/bytes.h"

namespace reveza::cli {

struct ProbedGpu {
  Bytes total = 0;
  std::string name;
};

// The first GPU. Nothing when there is no driver or no GPU. `library_folder`, when not empty, is
// where libcuda.so.1 is looked for.
std::optional<ProbedGpu> ProbeGpu(const std::string& library_folder = "");

}  // namespace reveza::cli
