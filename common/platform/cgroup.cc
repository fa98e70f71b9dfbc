#include "common/platform/cgroup.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "common/platform/memory_headroom.h"
#include "common/platform/text_file.h"

namespace reveza::platform {
namespace {

namespace fs = std::filesystem;

// The root as memory_headroom.h takes it.
std::string RootText(const fs::path& root) { return root == "/" ? "" : root.string(); }

// Returns the process's own group and its ancestors up to the mount.
std::vector<fs::path> Upwards(const CgroupLocation& place) {
  std::vector<fs::path> folders;
  for (fs::path below = place.group;; below = below.parent_path()) {
    folders.push_back(below.empty() ? place.mount : place.mount / below);
    if (below.empty()) return folders;
  }
}

std::optional<std::uint64_t> KeyIn(const fs::path& file, std::string_view key) {
  const auto text = ReadText(file);
  return text ? NumberOfKey(*text, key) : std::nullopt;
}

// Returns the reading with the least left, over the process's own group and its ancestors.
template <typename T>
std::optional<T> Tightest(std::string_view controller, pid_t pid, const fs::path& root,
                          std::optional<T> (*read)(const fs::path& folder, int version)) {
  std::optional<T> tightest;
  const auto place = FindCgroup(controller, pid, root);
  if (!place) return tightest;
  for (const fs::path& folder : Upwards(*place)) {
    auto reading = read(folder, place->version);
    if (reading && (!tightest || reading->left() < tightest->left())) tightest = std::move(reading);
  }
  return tightest;
}

std::optional<double> QuotaOf(const fs::path& folder, int version) {
  std::optional<std::uint64_t> quota;
  std::optional<std::uint64_t> period;
  if (version == 1) {
    quota = ReadNumber(folder / "cpu.cfs_quota_us");  // -1: none
    period = ReadNumber(folder / "cpu.cfs_period_us");
  } else if (const auto text = ReadText(folder / "cpu.max")) {
    const auto words = Words(*text);
    if (words.size() == 2) {
      quota = ToNumber(words[0]);
      period = ToNumber(words[1]);
    }
  }
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

bool MayWrite(const fs::path& path) { return access(path.c_str(), W_OK) == 0; }

// Whether this user can create groups there and move processes into them.
bool IsDelegated(const fs::path& group) {
  return MayWrite(group) && MayWrite(group / "cgroup.procs");
}

// Explains why a group is not delegated to this user.
std::string WhyNotDelegated(const fs::path& group) {
  const bool read_only = !IsDelegated(group) && errno == EROFS;
  return group.string() +
         (read_only ? " is on a read-only file system" : " is not delegated to this user");
}

bool Lists(const fs::path& file, std::string_view word) {
  const std::string text = ReadText(file).value_or("");
  const auto words = Words(text);
  return std::ranges::find(words, word) != words.end();
}

// Only the root group of the machine lacks cgroup.type.
bool IsTop(const fs::path& group) {
  std::error_code error;
  return !fs::exists(group / "cgroup.type", error);
}

bool IsAloneIn(const fs::path& group) {
  const std::string text = ReadText(group / "cgroup.procs").value_or("");
  const auto processes = Lines(text);
  return processes.size() == 1 && ToNumber(processes[0]) == static_cast<std::uint64_t>(getpid());
}

// Whether the group has limits that its siblings lack. A missing file limits nothing.
bool HasLimits(const fs::path& group) {
  for (const char* file : {"memory.max", "memory.high", "memory.swap.max", "cpu.max", "pids.max"}) {
    const std::string text = ReadText(group / file).value_or("max");
    const auto words = Words(text);
    if (!words.empty() && words.front() != "max") return true;
  }
  return false;
}

Result<CgroupDelegation> InVersion1(const fs::path& own) {
  if (!IsDelegated(own)) {
    return Fail(Error::Code::kPermission, WhyNotDelegated(own));
  }
  // Without it, child groups would escape from the limits of this one.
  if (ReadNumber(own / "memory.use_hierarchy").value_or(0) != 1) {
    return Fail(
        Error::Code::kIncompatible,
        own.string() + " does not apply its limits to child groups (memory.use_hierarchy is 0)");
  }
  return CgroupDelegation{1, own, false, false};
}

Result<CgroupDelegation> InVersion2(const CgroupLocation& place) {
  const fs::path own = place.folder();
  if (!Lists(own / "cgroup.controllers", "memory")) {
    return Fail(Error::Code::kIncompatible, own.string() + " has no memory controller");
  }
  const bool enabled = Lists(own / "cgroup.subtree_control", "memory");
  const bool may_enable = MayWrite(own / "cgroup.subtree_control");
  if (IsDelegated(own) && (enabled || may_enable)) {
    if (enabled || IsTop(own)) return CgroupDelegation{2, own, false, !enabled};
    if (IsAloneIn(own)) return CgroupDelegation{2, own, true, true};
  }
  const fs::path above = own.parent_path();
  if (!place.group.empty() && IsDelegated(above) &&
      Lists(above / "cgroup.subtree_control", "memory")) {
    // Children would escape from the limits set for this process.
    if (HasLimits(own)) {
      return Fail(Error::Code::kPermission,
                  own.string() + " has limits that would not apply in its parent");
    }
    return CgroupDelegation{2, above, false, false};
  }
  if (!IsDelegated(own)) {
    return Fail(Error::Code::kPermission, WhyNotDelegated(own));
  }
  return Fail(Error::Code::kUnavailable, "other processes are in " + own.string());
}

}  // namespace

std::optional<CgroupLocation> FindCgroup(std::string_view controller, pid_t pid,
                                         const fs::path& root) {
  GroupPlace place;
  const GroupReading found =
      FindGroup(std::string(controller).c_str(), pid, RootText(root).c_str(), &place);
  if (found != GroupReading::kFound) return std::nullopt;
  return CgroupLocation{place.version, place.mount, fs::path(place.group).relative_path()};
}

std::optional<CgroupUsage> ReadCgroupMemory(pid_t pid, const fs::path& root) {
  GroupMemory memory;
  const GroupReading found = ReadGroupMemory(pid, RootText(root).c_str(), &memory);
  if (found != GroupReading::kFound) return std::nullopt;
  return CgroupUsage{memory.limit, memory.used, memory.folder, memory.file};
}

std::optional<std::uint64_t> ReadOutOfMemoryKills(const CgroupLocation& place) {
  const fs::path folder = place.folder();
  if (place.version == 1) return KeyIn(folder / "memory.oom_control", "oom_kill");
  const auto local = KeyIn(folder / "memory.events.local", "oom_kill");
  return local ? local : KeyIn(folder / "memory.events", "oom_kill");
}

// Linux 6.11 and later count in the group whose limit was met, in pids.events.local. Before, and
// with version 1, the count is in the group of the process, whichever limit was met.
std::optional<std::uint64_t> ReadTaskRefusals(const CgroupLocation& place) {
  std::optional<std::uint64_t> all;
  for (const fs::path& folder : Upwards(place)) {
    auto count = KeyIn(folder / "pids.events.local", "max");
    if (!count && folder == place.folder()) count = KeyIn(folder / "pids.events", "max");
    if (count) all = all.value_or(0) + *count;
  }
  return all;
}

std::optional<CgroupUsage> ReadCgroupTasks(pid_t pid, const fs::path& root) {
  return Tightest<CgroupUsage>("pids", pid, root, [](const fs::path& folder, int) {
    const auto limit = ReadNumber(folder / "pids.max");
    const auto used = ReadNumber(folder / "pids.current");
    return limit && used ? std::optional(CgroupUsage{*limit, *used, folder.string(), "pids.max"})
                         : std::nullopt;
  });
}

std::optional<CgroupQuota> ReadCgroupQuota(pid_t pid, const fs::path& root) {
  return Tightest<CgroupQuota>("cpu", pid, root, [](const fs::path& folder, int version) {
    std::optional<CgroupQuota> quota;
    if (const auto cpus = QuotaOf(folder, version)) {
      quota = {*cpus, KeyIn(folder / "cpu.stat", "nr_periods"),
               KeyIn(folder / "cpu.stat", "nr_throttled"), folder.string()};
    }
    return quota;
  });
}

std::optional<unsigned> ReadCgroupCpus(pid_t pid, const fs::path& root) {
  const auto place = FindCgroup("cpuset", pid, root);
  if (!place) return std::nullopt;
  const char* name = place->version == 1 ? "cpuset.effective_cpus" : "cpuset.cpus.effective";
  for (const fs::path& folder : Upwards(*place)) {
    if (const auto count = CountCpus(ReadText(folder / name).value_or(""))) return count;
  }
  return std::nullopt;
}

Result<CgroupDelegation> FindCgroupDelegation(const fs::path& root) {
  const auto place = FindCgroup("memory", 0, root);
  if (!place) return Fail(Error::Code::kNotFound, "none are mounted");
  if (place->version == 2) return InVersion2(*place);
  return InVersion1(place->folder());
}

std::optional<Bytes> ReadProgramMemory(const fs::path& group, int version) {
  const auto text = ReadText(group / "memory.stat");
  if (!text) return std::nullopt;
  const bool first = version == 1;
  const auto anonymous = NumberOfKey(*text, first ? "total_rss" : "anon");
  if (!anonymous) return std::nullopt;
  return *anonymous + NumberOfKey(*text, first ? "total_shmem" : "shmem").value_or(0);
}

}  // namespace reveza::platform
