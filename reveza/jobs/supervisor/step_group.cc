#include "reveza/jobs/supervisor/step_group.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/platform/text_file.h"

namespace reveza::jobs {
namespace {

using platform::NumberOfKey;
using platform::ReadText;
using platform::WriteKernelFile;

std::unexpected<Error> CgroupError(const std::string& path, int error) {
  return Fail(error == ENOSPC ? Error::Code::kExhausted : Error::Code::kPermission,
              path + ": " + std::strerror(error));
}

Status WriteLimits(const GroupRequest& request) {
  const bool first = request.version == 1;
  const auto set = [&](const char* file, const std::string& value) -> Status {
    const std::string path = request.folder + "/" + file;
    if (const int error = WriteKernelFile(path, value); error != 0) return CgroupError(path, error);
    return {};
  };
  if (request.memory_limit != 0) {
    const std::string limit = std::to_string(request.memory_limit);
    RETURN_IF_ERROR(set(first ? "memory.limit_in_bytes" : "memory.max", limit));
    // Do not let it continue in swap. Version 1 limits memory plus swap, version 2 each separately;
    // kernels without swap accounting have neither file.
    const std::string swap =
        request.folder + (first ? "/memory.memsw.limit_in_bytes" : "/memory.swap.max");
    const int error = WriteKernelFile(swap, first ? limit : "0");
    if (error != 0 && error != ENOENT) return CgroupError(swap, error);
  }
  if (first) return {};
  // Kill all processes together: a step often hangs when one of them is killed. Since Linux 4.19.
  static_cast<void>(WriteKernelFile(request.folder + "/memory.oom.group", "1"));
  return {};
}

// Returns whether the group, or with version 2 any group below it, contains processes.
bool IsAlive(const std::string& folder) {
  const bool has_members = !ReadText(folder + "/cgroup.procs").value_or("").empty();
  const std::string events = ReadText(folder + "/cgroup.events").value_or("");
  return has_members || NumberOfKey(events, "populated").value_or(0) != 0;
}

// Creates the folder. A leftover of a killed supervisor is replaced, to reset its counters.
Status MakeFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) == 0) return {};
  if (errno != EEXIST) return CgroupError(folder, errno);
  if (IsAlive(folder)) {
    return Fail(Error::Code::kUnavailable, folder + ": contains processes of another step");
  }
  if (rmdir(folder.c_str()) == 0 && mkdir(folder.c_str(), 0755) != 0)
    return CgroupError(folder, errno);
  return {};
}

}  // namespace

Result<StepGroup> StepGroup::Create(const GroupRequest& request) {
  RETURN_IF_ERROR(MakeFolder(request.folder));
  const bool first = request.version == 1;
  const std::string entry = first ? request.folder + "/cgroup.procs" : request.folder;
  UniqueFd descriptor(open(entry.c_str(), (first ? O_WRONLY : O_PATH | O_DIRECTORY) | O_CLOEXEC));
  const int error = errno;
  StepGroup group(request.version, request.folder, std::move(descriptor));
  Status limited = group.entry_ ? WriteLimits(request) : CgroupError(entry, error);
  if (limited) return group;
  group.Remove();
  return std::unexpected(limited.error());
}

bool StepGroup::Kill() const {
  return version_ == 2 && WriteKernelFile(folder_ + "/cgroup.kill", "1") == 0;
}

std::optional<GroupStats> StepGroup::ReadStats(const std::string& folder, int version) {
  GroupStats end;
  const bool first = version == 1;
  const auto events = ReadText(folder + (first ? "/memory.oom_control" : "/memory.events"));
  if (!events) return std::nullopt;
  end.kills = NumberOfKey(*events, "oom_kill").value_or(0);
  // In a group kill the selected victim is counted twice, unless it had already released its
  // memory; at least one was killed.
  const auto group_kills = NumberOfKey(*events, "oom_group_kill").value_or(0);
  if (end.kills > 0) end.kills -= std::min(end.kills - 1, group_kills);
  // Counts hits of this group's limit, not of its ancestors'.
  if (!first) end.at_limit = NumberOfKey(*events, "oom").value_or(0) > 0;
  // Version 1 counts limit hits, of memory and of memory plus swap.
  for (const char* file : {"/memory.failcnt", "/memory.memsw.failcnt"}) {
    if (first && platform::ReadNumber(folder + file).value_or(0) > 0) end.at_limit = true;
  }
  end.peak = platform::ReadNumber(folder + (first ? "/memory.max_usage_in_bytes" : "/memory.peak"));
  return end;
}

bool StepGroup::Remove() const { return rmdir(folder_.c_str()) == 0; }

}  // namespace reveza::jobs
