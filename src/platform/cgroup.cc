#include "platform/cgroup.h"

#include <algorithm>
#include <utility>

#include "platform/text_file.h"

namespace reveza::platform {
namespace {

namespace fs = std::filesystem;

// Version 1 says "no limit" by a number close to 2^63.
constexpr Bytes kNoLimit = Bytes{1} << 60;

bool Contains(std::string_view list, std::string_view word) {
  return ("," + std::string(list) + ",").find("," + std::string(word) + ",") != std::string::npos;
}

struct Mount {
  int version = 0;
  std::string_view top;    // which group is mounted there
  std::string_view place;  // where
};

// A line: ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [TAGS...] - TYPE SOURCE SUPER-OPTIONS
std::optional<Mount> ParseMount(std::string_view line, std::string_view controller) {
  const auto words = Words(line);
  const auto dash = std::ranges::find(words, "-");
  if (words.size() < 6 || words.end() - dash < 4) return std::nullopt;
  const std::string_view type = *(dash + 1);
  if (type == "cgroup2") return Mount{2, words[3], words[4]};
  if (type == "cgroup" && Contains(*(dash + 3), controller)) return Mount{1, words[3], words[4]};
  return std::nullopt;
}

// The group of the process in the hierarchy of `controller`: version 1's when it has it there.
std::optional<std::pair<int, std::string>> GroupOf(std::string_view text,
                                                   std::string_view controller) {
  std::optional<std::pair<int, std::string>> found;
  for (const std::string_view line : Lines(text)) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string group(line.substr(second + 1));
    if (controllers.empty() && !found) found = {2, group};
    if (Contains(controllers, controller)) found = {1, group};
  }
  return found;
}

// The process's own group and those above it, up to the mount.
std::vector<fs::path> Upwards(const CgroupPlace& place) {
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

}  // namespace

std::optional<CgroupPlace> FindCgroup(std::string_view controller, pid_t pid,
                                      const fs::path& root) {
  const fs::path folder = ProcessFolder(pid, root);
  const auto groups = ReadText(folder / "cgroup");
  if (!groups) return std::nullopt;
  const auto group = GroupOf(*groups, controller);
  if (!group) return std::nullopt;
  const auto& [version, name] = *group;
  CgroupPlace place{version, {}, fs::path(name).relative_path()};
  const auto mounts = ReadText(folder / "mountinfo").value_or("");
  for (const std::string_view line : Lines(mounts)) {
    const auto mount = ParseMount(line, controller);
    if (!mount || mount->version != version) continue;
    place.mount = root / fs::path(mount->place).relative_path();
    const fs::path inside = fs::path(name).lexically_relative(mount->top);
    const bool outside = inside.empty() || *inside.begin() == "..";
    place.group = outside || inside == "." ? fs::path() : inside;
    break;
  }
  std::error_code error;
  if (place.mount.empty()) {
    const fs::path base = root / "sys/fs/cgroup";
    place.mount = version == 1                          ? base / controller
                  : fs::exists(base / "unified", error) ? base / "unified"
                                                        : base;
  }
  // In a container with a namespace of its own the name may be that of another world.
  if (!fs::exists(place.mount / place.group, error)) place.group.clear();
  return place;
}

std::optional<CgroupMemory> ReadCgroupMemory(pid_t pid, const fs::path& root) {
  const auto place = FindCgroup("memory", pid, root);
  if (!place) return std::nullopt;
  const bool first = place->version == 1;
  std::optional<CgroupMemory> least;
  for (const fs::path& folder : Upwards(*place)) {
    const auto limit = ReadNumber(folder / (first ? "memory.limit_in_bytes" : "memory.max"));
    const auto usage = ReadNumber(folder / (first ? "memory.usage_in_bytes" : "memory.current"));
    if (!limit || !usage || *limit >= kNoLimit) continue;
    const Bytes cache =
        KeyIn(folder / "memory.stat", first ? "total_inactive_file" : "inactive_file").value_or(0);
    CgroupMemory memory{*limit, *usage - std::min(*usage, cache), folder.string()};
    const auto left = [](const CgroupMemory& of) { return of.limit - std::min(of.limit, of.used); };
    if (!least || left(memory) < left(*least)) least = std::move(memory);
  }
  return least;
}

std::optional<std::uint64_t> OutOfMemoryKillsOf(const CgroupPlace& place) {
  const fs::path folder = place.group.empty() ? place.mount : place.mount / place.group;
  if (place.version == 1) return KeyIn(folder / "memory.oom_control", "oom_kill");
  const auto local = KeyIn(folder / "memory.events.local", "oom_kill");
  return local ? local : KeyIn(folder / "memory.events", "oom_kill");
}

std::optional<std::uint64_t> ReadCgroupOutOfMemoryKills(pid_t pid, const fs::path& root) {
  const auto place = FindCgroup("memory", pid, root);
  return place ? OutOfMemoryKillsOf(*place) : std::nullopt;
}

std::optional<CgroupTasks> ReadCgroupTasks(pid_t pid, const fs::path& root) {
  const auto place = FindCgroup("pids", pid, root);
  if (!place) return std::nullopt;
  std::optional<CgroupTasks> least;
  for (const fs::path& folder : Upwards(*place)) {
    const auto limit = ReadNumber(folder / "pids.max");
    const auto used = ReadNumber(folder / "pids.current");
    if (!limit || !used) continue;
    const auto left = [](const CgroupTasks& of) { return of.limit - std::min(of.limit, of.used); };
    CgroupTasks tasks{*limit, *used, folder.string()};
    if (!least || left(tasks) < left(*least)) least = std::move(tasks);
  }
  return least;
}

std::optional<CgroupQuota> ReadCgroupQuota(pid_t pid, const fs::path& root) {
  const auto place = FindCgroup("cpu", pid, root);
  if (!place) return std::nullopt;
  std::optional<CgroupQuota> least;
  for (const fs::path& folder : Upwards(*place)) {
    const auto cpus = QuotaOf(folder, place->version);
    if (!cpus || (least && least->cpus <= *cpus)) continue;
    least = CgroupQuota{*cpus, KeyIn(folder / "cpu.stat", "nr_periods"),
                        KeyIn(folder / "cpu.stat", "nr_throttled"), folder.string()};
  }
  return least;
}

std::optional<unsigned> ReadCgroupCpus(pid_t pid, const fs::path& root) {
  const auto place = FindCgroup("cpuset", pid, root);
  if (!place) return std::nullopt;
  const char* name = place->version == 1 ? "cpuset.effective_cpus" : "cpuset.cpus.effective";
  for (const fs::path& folder : Upwards(*place)) {
    const auto text = ReadText(folder / name);
    if (!text) continue;
    const auto count = CountList(*text);
    if (count) return count;
  }
  return std::nullopt;
}

std::optional<unsigned> CountList(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  unsigned count = 0;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const auto dash = part.find('-');
    const auto first = ToNumber(part);
    const auto last = dash == part.npos ? first : ToNumber(part.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    count += static_cast<unsigned>(*last - *first) + 1;
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  if (count == 0) return std::nullopt;
  return count;
}

}  // namespace reveza::platform
