#include "platform/host_memory.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>

#include "platform/text_file.h"

namespace reveza::platform {
namespace {

namespace fs = std::filesystem;

// Version 1 says "no limit" by a number close to 2^63.
constexpr Bytes kNoLimit = Bytes{1} << 60;

// The value behind "<key> " at the beginning of a line.
std::optional<Bytes> ReadKey(const fs::path& path, std::string_view key) {
  const auto text = ReadText(path);
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  std::string name;
  std::string value;
  while (lines >> name >> value) {
    if (name == key) return ToNumber(value);
    lines.ignore(4096, '\n');
  }
  return std::nullopt;
}

struct Names {
  const char* limit;
  const char* usage;
  const char* reclaimable;  // key in memory.stat
};
constexpr Names kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                             "total_inactive_file"};
constexpr Names kVersion2 = {"memory.max", "memory.current", "inactive_file"};

std::optional<Bytes> HeadroomOf(const fs::path& group, const Names& names) {
  const auto limit = ReadNumber(group / names.limit);
  const auto usage = ReadNumber(group / names.usage);
  if (!limit || !usage || *limit >= kNoLimit) return std::nullopt;
  const Bytes cache = ReadKey(group / "memory.stat", names.reclaimable).value_or(0);
  const Bytes used = *usage - std::min(*usage, cache);
  return *limit - std::min(*limit, used);
}

// The least headroom of the group and of all above it, up to the mount.
std::optional<Bytes> Walk(const fs::path& mount, const fs::path& group, const Names& names) {
  std::optional<Bytes> least;
  fs::path below = group.relative_path();
  for (;;) {
    if (const auto headroom = HeadroomOf(mount / below, names)) {
      least = least ? std::min(*least, *headroom) : *headroom;
    }
    if (below.empty()) return least;
    below = below.parent_path();
  }
}

}  // namespace

std::optional<Bytes> AvailableMemory(const fs::path& root) {
  const auto kibibytes = ReadKey(root / "proc/meminfo", "MemAvailable:");
  return kibibytes ? std::optional<Bytes>(*kibibytes * kKiB) : std::nullopt;
}

std::optional<std::uint64_t> OutOfMemoryKills(const fs::path& root) {
  return ReadKey(root / "proc/vmstat", "oom_kill");
}

std::optional<Bytes> CgroupHeadroom(const fs::path& root) {
  const auto groups = ReadText(root / "proc/self/cgroup");
  if (!groups) return std::nullopt;
  const fs::path base = root / "sys/fs/cgroup";
  std::optional<Bytes> least;
  std::istringstream lines(*groups);
  std::string line;
  while (std::getline(lines, line)) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    std::optional<Bytes> headroom;
    if (controllers == ",,") {
      headroom = Walk(base, group, kVersion2);
    } else if (controllers.find(",memory,") != std::string::npos) {
      headroom = Walk(base / "memory", group, kVersion1);
    }
    if (headroom) least = least ? std::min(*least, *headroom) : *headroom;
  }
  return least;
}

std::optional<Bytes> MemoryHeadroom(const fs::path& root) {
  const auto machine = AvailableMemory(root);
  const auto group = CgroupHeadroom(root);
  if (machine && group) return std::min(*machine, *group);
  return machine ? machine : group;
}

}  // namespace reveza::platform
