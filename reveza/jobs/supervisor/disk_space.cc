#include "reveza/jobs/supervisor/disk_space.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "common/base/unique_fd.h"

namespace reveza::jobs {
bool HasFreeBlocks(const std::string& folder) {
  struct statvfs system{};
  if (statvfs(folder.c_str(), &system) != 0 || system.f_blocks == 0) return true;
  return (geteuid() == 0 ? system.f_bfree : system.f_bavail) > 0;
}

bool MayHaveLostOutput(const std::string& folder, bool wrote) {
  constexpr off_t kProbe = 4096;
  if (!HasFreeBlocks(folder)) return true;
  if (!wrote) return false;
  // Quotas do not show in the free blocks. A file of its own, because processes in the background
  // may still write to the outputs. Some file systems do not support this.
  const UniqueFd probe(open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
  if (probe && fallocate(probe.get(), 0, 0, kProbe) == 0) return false;
  return errno == ENOSPC || errno == EDQUOT;
}

}  // namespace reveza::jobs
