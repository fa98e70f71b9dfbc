// For tests: where files are kept that nothing need survive. A disk that others keep busy makes a
// test that synchronises thousands of small files ten times as long.
#pragma once

#include <sys/statvfs.h>

#include <filesystem>

#include "base/bytes.h"

namespace reveza::platform {

// A folder in memory with room for some MiB, from which programs can be started; where there is
// none, that of temporary files.
inline std::filesystem::path FolderInMemory() {
  constexpr Bytes kEnough = 256 * kMiB;
  const std::filesystem::path memory = "/dev/shm";
  struct statvfs system{};
  const bool there = statvfs(memory.c_str(), &system) == 0 &&
                     (system.f_flag & (ST_NOEXEC | ST_RDONLY)) == 0 &&
                     Bytes{system.f_bavail} * system.f_frsize >= kEnough;
  return there ? memory : std::filesystem::temp_directory_path();
}

}  // namespace reveza::platform
