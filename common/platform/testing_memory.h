// For tests: a folder in memory. On a busy disk, tests that sync thousands of small files take ten
// times as long.
#pragma once

#include <sys/statvfs.h>

#include <filesystem>

#include "common/base/bytes.h"

namespace reveza::platform {

// Returns a folder in memory with at least 256 MiB free and without noexec; else that of temporary
// files.
inline std::filesystem::path FolderInMemory() {
  constexpr Bytes kMinFree = 256 * kMiB;
  const std::filesystem::path memory = "/dev/shm";
  struct statvfs system{};
  const bool usable = statvfs(memory.c_str(), &system) == 0 &&
                      (system.f_flag & (ST_NOEXEC | ST_RDONLY)) == 0 &&
                      Bytes{system.f_bavail} * system.f_frsize >= kMinFree;
  return usable ? memory : std::filesystem::temp_directory_path();
}

}  // namespace reveza::platform
