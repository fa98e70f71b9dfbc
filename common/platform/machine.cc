#include "common/platform/machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <fstream>
#include <string_view>

#include "common/base/parse_number.h"
#include "common/platform/cgroup.h"
#include "common/platform/memory_headroom.h"
#include "common/platform/text_file.h"

namespace reveza::platform {
namespace {

namespace fs = std::filesystem;

// Returns the word in brackets of "always [madvise] never".
std::optional<std::string> Chosen(const fs::path& path) {
  const auto text = ReadText(path);
  if (!text) return std::nullopt;
  const auto begin = text->find('[');
  const auto end = text->find(']');
  if (begin == std::string::npos || end == std::string::npos || begin > end) return std::nullopt;
  return text->substr(begin + 1, end - begin - 1);
}

// Returns the memory that no counter of the kernel accounts for.
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
  // Older kernels lack some of these counters, and the feature with them.
  for (const char* key : {"SecPageTables:", "Percpu:", "Hugetlb:", "VmallocUsed:"}) {
    counted += NumberOfKey(text, key).value_or(0);
  }
  return (*total - std::min(*total, counted)) * kKiB;
}

namespace fs = std::filesystem;

template <typename Number>
bool Take(std::string_view word, std::string_view key, Number& value) {
  if (!word.starts_with(key)) return false;
  const auto number = ParseNumber<Number>(word.substr(key.size()));
  value = number.value_or(0);
  return number.has_value();
}

std::optional<PressureLine> ParseLine(std::string_view line) {
  const auto words = Words(line);
  PressureLine parsed;
  std::uint64_t total = 0;
  if (words.size() < 5 || !Take(words[1], "avg10=", parsed.average_10s) ||
      !Take(words[2], "avg60=", parsed.average_60s) ||
      !Take(words[3], "avg300=", parsed.average_300s) || !Take(words[4], "total=", total)) {
    return std::nullopt;
  }
  parsed.total = std::chrono::microseconds(total);
  return parsed;
}

// With the kernel parameter psi=0 the file exists, but reads fail.
std::optional<Pressure> ReadPressure(const fs::path& path) {
  return ParsePressure(ReadText(path).value_or(""));
}

}  // namespace

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::optional<std::vector<unsigned>> AllowedCpus(pid_t pid, const fs::path& root) {
  constexpr std::string_view kKey = "Cpus_allowed_list:";
  const std::string text = ReadText(ProcessFolder(pid, root) / "status").value_or("");
  for (const std::string_view line : Lines(text)) {
    if (!line.starts_with(kKey)) continue;
    const auto words = Words(line.substr(kKey.size()));
    if (!words.empty()) return ParseCpuList(words.front());
  }
  return std::nullopt;
}

MachineCores ReadMachineCores(pid_t pid, const fs::path& root) {
  MachineCores cores;
  cores.online = CountCpus(ReadText(root / "sys/devices/system/cpu/online").value_or(""));
  if (const auto allowed = AllowedCpus(pid, root); allowed && !allowed->empty()) {
    cores.allowed = static_cast<unsigned>(allowed->size());
  }
  return cores;
}

CommitState ReadCommitState(const fs::path& root) {
  const auto text = ReadText(root / "proc/meminfo");
  if (!text) return {};
  const auto bytes = [&](std::string_view key) { return KibibytesOfKey(*text, key); };
  CommitState state{.total = bytes("MemTotal:"),
                    .available = bytes("MemAvailable:"),
                    .committed = bytes("Committed_AS:"),
                    .commit_limit = bytes("CommitLimit:"),
                    .swap_total = bytes("SwapTotal:"),
                    .swap_free = bytes("SwapFree:"),
                    .unevictable = bytes("Unevictable:"),
                    .driver_pages = DriverPages(*text),
                    .huge_pages = bytes("AnonHugePages:"),
                    .reserved_free = std::nullopt,
                    .huge_page_size = bytes("Hugepagesize:")};
  const auto reserved = NumberOfKey(*text, "HugePages_Free:");
  if (reserved && state.huge_page_size) state.reserved_free = *reserved * *state.huge_page_size;
  return state;
}

KernelLimits ReadKernelLimits(const fs::path& root) {
  KernelLimits limits;
  const auto sysctl = root / "proc/sys";
  limits.max_map_count = ReadNumber(sysctl / "vm/max_map_count");
  limits.threads_max = ReadNumber(sysctl / "kernel/threads-max");
  limits.pid_max = ReadNumber(sysctl / "kernel/pid_max");
  limits.overcommit = ReadNumber(sysctl / "vm/overcommit_memory");
  // "0.10 0.20 0.30 2/345 6789": running / total.
  const std::string load = ReadText(root / "proc/loadavg").value_or("");
  if (const auto slash = load.find('/'); slash != load.npos) {
    limits.threads_now = ToNumber(std::string_view(load).substr(slash + 1));
  }
  const auto huge_pages = root / "sys/kernel/mm/transparent_hugepage";
  limits.huge_pages = Chosen(huge_pages / "enabled");
  limits.huge_page_wait = Chosen(huge_pages / "defrag");
  return limits;
}

std::optional<CpuTicks> ReadCpuTicks(const fs::path& root) {
  CpuTicks ticks;
  bool found = false;
  const std::string text = ReadText(root / "proc/stat").value_or("");
  for (const std::string_view line : Lines(text)) {
    if (!line.starts_with("cpu")) break;
    const auto words = Words(line);
    const bool all = words.front() == "cpu";
    if (all && words.size() < 6) return std::nullopt;
    CpuTicks::Core sum;
    // user nice system idle iowait irq softirq steal; user and nice include guest time.
    for (std::size_t i = 1; i < std::min<std::size_t>(words.size(), 9); ++i) {
      (i == 4 || i == 5 ? sum.idle : sum.busy) += ToNumber(words[i]).value_or(0);
    }
    if (all) {
      ticks.busy = sum.busy;
      ticks.idle = sum.idle;
      found = true;
    } else {
      ++ticks.cores;
      ticks.each.push_back(sum);
    }
  }
  return found && ticks.cores > 0 ? std::optional(ticks) : std::nullopt;
}

std::optional<std::array<double, 3>> ReadLoad(const fs::path& root) {
  std::ifstream file(root / "proc/loadavg");
  std::array<double, 3> load{};
  if (!(file >> load[0] >> load[1] >> load[2])) return std::nullopt;
  return load;
}

std::optional<MachineMemory> ReadMachineMemory(const fs::path& root) {
  const CommitState state = ReadCommitState(root);
  if (!state.total || !state.available) return std::nullopt;
  return MachineMemory{*state.total, *state.available, state.swap_total, state.swap_free};
}

std::optional<std::uint64_t> OutOfMemoryKills(const fs::path& root) {
  return NumberOfKey(ReadText(root / "proc/vmstat").value_or(""), "oom_kill");
}

std::optional<Bytes> CgroupHeadroom(const fs::path& root) {
  const auto memory = ReadCgroupMemory(0, root);
  return memory ? std::optional(memory->left()) : std::nullopt;
}

std::optional<Bytes> MemoryHeadroom(const fs::path& root) {
  const Bytes headroom = HostHeadroom(root == "/" ? "" : root.c_str());
  return headroom == ~Bytes{0} ? std::nullopt : std::optional(headroom);
}

std::optional<Pressure> ParsePressure(std::string_view text) {
  std::optional<PressureLine> some;
  std::optional<PressureLine> full;
  for (const std::string_view line : Lines(text)) {
    if (line.starts_with("some ")) some = ParseLine(line);
    if (line.starts_with("full ")) full = ParseLine(line);
  }
  if (!some) return std::nullopt;
  return Pressure{*some, full};
}

Pressures MachinePressure(const fs::path& root) {
  const fs::path folder = root / "proc/pressure";
  return {ReadPressure(folder / "cpu"), ReadPressure(folder / "memory"),
          ReadPressure(folder / "io")};
}

Pressures CgroupPressure(pid_t pid, const fs::path& root) {
  // No version 1 hierarchy has this name, so that this is the group of version 2.
  const auto place = FindCgroup("pressure", pid, root);
  if (!place || place->version != 2 || place->group.empty()) return {};
  const fs::path folder = place->folder();
  return {ReadPressure(folder / "cpu.pressure"), ReadPressure(folder / "memory.pressure"),
          ReadPressure(folder / "io.pressure")};
}

}  // namespace reveza::platform
