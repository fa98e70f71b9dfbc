#include "platform/list_folder.h"

#include <algorithm>
#include <system_error>

#include "base/system_error.h"

namespace reveza::platform {

Result<std::vector<std::filesystem::path>> ListFolder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> all;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  // Its ++ throws, where the folder goes meanwhile.
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    all.push_back(entry->path());
  }
  if (error) {
    return std::unexpected(SystemError("cannot read the folder " + folder.string(), error.value()));
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace reveza::platform
