#include "platform/cgroup_ground.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "platform/cgroup.h"
#include "platform/text_file.h"

namespace reveza::platform {
namespace {

namespace fs = std::filesystem;

bool MayWrite(const fs::path& path) { return access(path.c_str(), W_OK) == 0; }

// Of a group that is not ours.
std::string WhyNotOurs(const fs::path& group) {
  const bool may = MayWrite(group) && MayWrite(group / "cgroup.procs");
  const bool read_only = !may && errno == EROFS;
  return group.string() +
         (read_only ? " is on a file system that can only be read" : " is not given to this user");
}

std::unexpected<Error> No(Error::Code code, std::string reason) {
  return Fail(code, std::move(reason));
}

bool Lists(const fs::path& file, std::string_view word) {
  const std::string text = ReadText(file).value_or("");
  const auto words = Words(text);
  return std::ranges::find(words, word) != words.end();
}

// Only the group at the top of the whole machine lacks the file.
bool IsTop(const fs::path& group) {
  std::error_code error;
  return !fs::exists(group / "cgroup.type", error);
}

bool IsAloneIn(const fs::path& group) {
  const std::string text = ReadText(group / "cgroup.procs").value_or("");
  const auto processes = Lines(text);
  return processes.size() == 1 && ToNumber(processes[0]) == static_cast<std::uint64_t>(getpid());
}

// Groups may be made there, and processes of ours moved into them.
bool IsOurs(const fs::path& group) { return MayWrite(group) && MayWrite(group / "cgroup.procs"); }

// What holds for this group and not for those beside it. A file that is not there limits nothing.
bool HasLimits(const fs::path& group) {
  for (const char* file : {"memory.max", "memory.high", "memory.swap.max", "cpu.max", "pids.max"}) {
    const std::string text = ReadText(group / file).value_or("max");
    const auto words = Words(text);
    if (!words.empty() && words.front() != "max") return true;
  }
  return false;
}

Result<CgroupGround> InVersion1(const fs::path& own) {
  if (!IsOurs(own)) {
    return No(Error::Code::kPermission, WhyNotOurs(own));
  }
  // Else what runs in a group below would escape from our own limits.
  if (ReadNumber(own / "memory.use_hierarchy").value_or(0) != 1) {
    return No(Error::Code::kIncompatible, own.string() + " does not hold for groups below it");
  }
  return CgroupGround{1, own, false, false};
}

Result<CgroupGround> InVersion2(const CgroupPlace& place) {
  const fs::path own = place.group.empty() ? place.mount : place.mount / place.group;
  if (!Lists(own / "cgroup.controllers", "memory")) {
    return No(Error::Code::kIncompatible, own.string() + " has no memory controller");
  }
  const bool enabled = Lists(own / "cgroup.subtree_control", "memory");
  const bool may_enable = MayWrite(own / "cgroup.subtree_control");
  if (IsOurs(own) && (enabled || may_enable)) {
    if (enabled || IsTop(own)) return CgroupGround{2, own, false, !enabled};
    if (IsAloneIn(own)) return CgroupGround{2, own, true, true};
  }
  const fs::path above = own.parent_path();
  if (!place.group.empty() && IsOurs(above) && Lists(above / "cgroup.subtree_control", "memory")) {
    // Steps would escape from what somebody has set for this program and all that it starts.
    if (HasLimits(own)) {
      return No(Error::Code::kPermission,
                own.string() + " has limits that would not hold in the one above");
    }
    return CgroupGround{2, above, false, false};
  }
  if (!IsOurs(own)) {
    return No(Error::Code::kPermission, WhyNotOurs(own));
  }
  return No(Error::Code::kUnavailable, "other programs are in " + own.string() + ", too");
}

}  // namespace

Result<CgroupGround> FindCgroupGround(const fs::path& root) {
  const auto place = FindCgroup("memory", 0, root);
  if (!place) return No(Error::Code::kNotFound, "none are mounted");
  if (place->version == 2) return InVersion2(*place);
  return InVersion1(place->group.empty() ? place->mount : place->mount / place->group);
}

std::optional<Bytes> ProgramMemoryOf(const fs::path& group, int version) {
  const auto text = ReadText(group / "memory.stat");
  if (!text) return std::nullopt;
  const bool first = version == 1;
  const auto anonymous = NumberOfKey(*text, first ? "total_rss" : "anon");
  if (!anonymous) return std::nullopt;
  return *anonymous + NumberOfKey(*text, first ? "total_shmem" : "shmem").value_or(0);
}

}  // namespace reveza::platform
