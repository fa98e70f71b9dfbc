#include "platform/machine.h"

#include <string_view>

#include "platform/cgroup.h"
#include "platform/text_file.h"

namespace reveza::platform {

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
  if (const auto text = ReadText(root / "sys/kernel/mm/transparent_hugepage/enabled")) {
    const auto begin = text->find('[');
    const auto end = text->find(']');
    if (begin != std::string::npos && end != std::string::npos && begin < end) {
      limits.huge_pages = text->substr(begin + 1, end - begin - 1);
    }
  }
  return limits;
}

}  // namespace reveza::platform
