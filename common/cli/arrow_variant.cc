#include "common/cli/arrow_variant.h"

#include <unistd.h>

#include <filesystem>
#include <ranges>
#include <string_view>
#include <system_error>

#include "common/platform/runtime_paths.h"

namespace reveza::command_line {

#ifdef REVEZA_PYARROW_LIBRARY
void UseArrowVariant(const std::string& name, char** argv) {
  namespace fs = std::filesystem;
  const fs::path folder = platform::ProgramFolder();
  const fs::path variant = folder / (name + "-arrow");
  std::error_code ignored;
  if (!fs::exists(variant, ignored)) return;
  for (const auto place : std::views::split(std::string_view(REVEZA_PYARROW_FOLDERS), ':')) {
    const fs::path pyarrow = folder.parent_path() / std::string_view(place);
    if (!fs::exists(pyarrow / REVEZA_PYARROW_LIBRARY, ignored)) continue;
    execv(variant.c_str(), argv);
    return;
  }
}
#else
void UseArrowVariant(const std::string& /*name*/, char** /*argv*/) {}
#endif

}  // namespace reveza::command_line
