#include "reveza/jobs/supervisor/disk_space.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "common/base/unique_fd.h"

namespace reveza::jobs {

bool DiskSpace::HasRoom(const std::string& folder, std::int64_t now) {
  if (much_at_ && folder == folder_ && now - *much_at_ < kMaxAge) return true;
  const auto free = read_(folder);
  folder_ = folder;
  much_at_ = free && *free >= kMuch ? std::optional(now) : std::nullopt;
  return !free || *free > 0;
}

bool IsAtQuota(const std::string& folder) {
  constexpr off_t kProbe = 4096;
  // A file of its own, because processes in the background may still write to the outputs. Some
  // file systems do not support this.
  const UniqueFd probe(open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
  if (probe && fallocate(probe.get(), 0, 0, kProbe) == 0) return false;
  return errno == ENOSPC || errno == EDQUOT;
}

}  // namespace reveza::jobs
