#include "reveza/cli/reveza_web/tool.h"

#include "common/platform/runtime_paths.h"

namespace reveza::cli {

Result<platform::ProgramOutput> RunTool(const std::vector<std::string>& arguments,
                                        std::chrono::milliseconds limit) {
  std::vector<std::string> words = {(platform::ProgramFolder() / "reveza").string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return platform::RunProgram(words, limit);
}

}  // namespace reveza::cli
