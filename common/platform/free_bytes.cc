#include "common/platform/free_bytes.h"

#include <sys/statvfs.h>
#include <unistd.h>

namespace reveza::platform {

std::optional<std::uint64_t> FreeBytes(const std::string& folder) {
  struct statvfs system{};
  if (statvfs(folder.c_str(), &system) != 0 || system.f_blocks == 0) return std::nullopt;
  const std::uint64_t blocks = geteuid() == 0 ? system.f_bfree : system.f_bavail;
  return blocks * system.f_frsize;
}

}  // namespace reveza::platform
