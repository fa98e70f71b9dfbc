#include "runner/definition/gpu_use.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace reveza::runner {

bool MayHoldGpu(const Command& command) {
  if (LaneOf(command) == Lane::kGpu) return true;
  const auto& words = command.arguments;
  const auto is_run = [](const std::string& program, const std::string& word) {
    return (program == "reveza" || program.ends_with("/reveza")) && word == "run";
  };
  if (std::ranges::adjacent_find(words, is_run) != words.end()) return true;
  // A line for a shell, wherever it stands.
  return std::ranges::any_of(words,
                             [](std::string_view word) { return word.contains("reveza run"); });
}

}  // namespace reveza::runner
