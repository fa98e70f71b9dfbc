#include "platform/machine.h"

#include <algorithm>
#include <string_view>

#include "platform/cgroup.h"
#include "platform/text_file.h"

namespace reveza::platform {
namespace {

// "always [madvise] never": the one in brackets.
std::optional<std::string> Chosen(const std::filesystem::path& path) {
  const auto text = ReadText(path);
  if (!text) return std::nullopt;
  const auto begin = text->find('[');
  const auto end = text->find(']');
  if (begin == std::string::npos || end == std::string::npos || begin > end) return std::nullopt;
  return text->substr(begin + 1, end - begin - 1);
}

// What is left of the memory when all that the kernel has counted somewhere is taken away.
std::optional<Bytes> DriverPages(std::string_view text) {
  const auto total = NumberOfKey(text, "MemTotal:");
  if (!total) return std::nullopt;
  std::uint64_t counted = 0;
  for (const char* key : {"MemFree:", "Active:", "Inactive:", "Unevictable:", "Slab:",
                          "KernelStack:", "PageTables:"}) {
    const auto kibibytes = NumberOfKey(text, key);
    if (!kibibytes) return std::nullopt;
    counted += *kibibytes;
  }
  // Older kernels lack some of these, and then have none of it.
  for (const char* key : {"SecPageTables:", "Percpu:", "Hugetlb:", "VmallocUsed:"}) {
    counted += NumberOfKey(text, key).value_or(0);
  }
  return (*total - std::min(*total, counted)) * kKiB;
}

}  // namespace

MachineCores ReadMachineCores(pid_t pid, const std::filesystem::path& root) {
  MachineCores cores;
  const auto cpus = root / "sys/devices/system/cpu";
  if (const auto text = ReadText(cpus / "online")) cores.online = CountList(*text);
  if (const auto text = ReadText(cpus / "cpu0/topology/thread_siblings_list")) {
    cores.per_core_id = CountList(*text);
  }
  if (const auto text = ReadText(ProcessFolder(pid, root) / "status")) {
    constexpr std::string_view kKey = "Cpus_allowed_list:";
    for (const std::string_view line : Lines(*text)) {
      if (!line.starts_with(kKey)) continue;
      const auto words = Words(line.substr(kKey.size()));
      if (!words.empty()) cores.allowed = CountList(words.front());
    }
  }
  return cores;
}

CommitState ReadCommitState(const std::filesystem::path& root) {
  CommitState state;
  const auto text = ReadText(root / "proc/meminfo");
  if (!text) return state;
  const auto bytes = [&](std::string_view key) -> std::optional<Bytes> {
    const auto kibibytes = NumberOfKey(*text, key);
    if (!kibibytes) return std::nullopt;
    return *kibibytes * kKiB;
  };
  state.total = bytes("MemTotal:");
  state.available = bytes("MemAvailable:");
  state.committed = bytes("Committed_AS:");
  state.commit_limit = bytes("CommitLimit:");
  state.swap_total = bytes("SwapTotal:");
  state.swap_free = bytes("SwapFree:");
  state.unevictable = bytes("Unevictable:");
  state.driver_pages = DriverPages(*text);
  state.huge_pages = bytes("AnonHugePages:");
  state.huge_page_size = bytes("Hugepagesize:");
  const auto reserved = NumberOfKey(*text, "HugePages_Free:");
  if (reserved && state.huge_page_size) state.reserved_free = *reserved * *state.huge_page_size;
  return state;
}

KernelLimits ReadKernelLimits(const std::filesystem::path& root) {
  KernelLimits limits;
  const auto sysctl = root / "proc/sys";
  limits.max_map_count = ReadNumber(sysctl / "vm/max_map_count");
  limits.threads_max = ReadNumber(sysctl / "kernel/threads-max");
  limits.pid_max = ReadNumber(sysctl / "kernel/pid_max");
  limits.overcommit = ReadNumber(sysctl / "vm/overcommit_memory");
  // "0.10 0.20 0.30 2/345 6789": running / all.
  if (const auto text = ReadText(root / "proc/loadavg")) {
    const auto slash = text->find('/');
    if (slash != std::string::npos) {
      limits.threads_now = ToNumber(std::string_view(*text).substr(slash + 1));
    }
  }
  const auto huge_pages = root / "sys/kernel/mm/transparent_hugepage";
  limits.huge_pages = Chosen(huge_pages / "enabled");
  limits.huge_page_wait = Chosen(huge_pages / "defrag");
  return limits;
}

}  // namespace reveza::platform
