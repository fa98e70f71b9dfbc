#include "common/platform/process_limits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "common/platform/process_table.h"
#include "common/platform/text_file.h"

namespace reveza::platform {
namespace {

// Returns the size of the mapping "7f00-7f01 rw-s ...".
std::uint64_t SizeOf(std::string_view line) {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  const char* const last = line.data() + line.size();
  const auto first = std::from_chars(line.data(), last, begin, 16);
  if (first.ec != std::errc() || first.ptr == last || *first.ptr != '-') return 0;
  const auto second = std::from_chars(first.ptr + 1, last, end, 16);
  return second.ec == std::errc() && end > begin ? end - begin : 0;
}

// Returns whether RLIMIT_NPROC does not bind a process, from its status: the rule of copy_process()
// in kernel/fork.c of Linux.
std::optional<bool> ExemptFromProcessLimit(std::string_view status) {
  constexpr std::uint64_t kAdmin = std::uint64_t{1} << 21;     // CAP_SYS_ADMIN
  constexpr std::uint64_t kResource = std::uint64_t{1} << 24;  // CAP_SYS_RESOURCE
  constexpr std::string_view kCapabilities = "CapEff:";
  const auto user = NumberOfKey(status, "Uid:");
  if (!user) return std::nullopt;
  if (*user == 0) return true;
  for (const std::string_view line : Lines(status)) {
    if (!line.starts_with(kCapabilities)) continue;
    const auto words = Words(line.substr(kCapabilities.size()));
    std::uint64_t bits = 0;
    if (words.empty()) return false;
    std::from_chars(words[0].data(), words[0].data() + words[0].size(), bits, 16);
    return (bits & (kAdmin | kResource)) != 0;
  }
  return false;
}

}  // namespace

ProcessLimits ParseProcessLimits(std::string_view text) {
  ProcessLimits limits;
  const std::array<std::pair<std::string_view, Limit*>, 6> names = {{
      {"Max address space", &limits.address_space},
      {"Max data size", &limits.data},
      {"Max stack size", &limits.stack},
      {"Max processes", &limits.processes},
      {"Max open files", &limits.open_files},
      {"Max locked memory", &limits.locked_memory},
  }};
  for (const std::string_view line : Lines(text)) {
    for (const auto& [name, limit] : names) {
      if (!line.starts_with(name)) continue;
      const auto words = Words(line.substr(name.size()));
      if (words.size() >= 2) *limit = {ToNumber(words[0]), ToNumber(words[1])};
    }
  }
  return limits;
}

Result<ProcessLimits> ReadProcessLimits(pid_t pid, const std::filesystem::path& root) {
  const auto text = ReadText(ProcessFolder(pid, root) / "limits");
  if (!text || text->empty()) {
    return Fail(Error::Code::kNotFound,
                "cannot read the limits of process {}: it has exited or is hidden from this user",
                pid);
  }
  return ParseProcessLimits(*text);
}

ProcessUse ReadProcessUse(pid_t pid, const std::filesystem::path& root) {
  ProcessUse use;
  const std::filesystem::path folder = ProcessFolder(pid, root);
  const std::string text = ReadText(folder / "status").value_or("");
  use.address_space = KibibytesOfKey(text, "VmSize:");
  use.address_peak = KibibytesOfKey(text, "VmPeak:");
  use.data = KibibytesOfKey(text, "VmData:");
  use.locked = KibibytesOfKey(text, "VmLck:");
  use.pinned = KibibytesOfKey(text, "VmPin:");
  if (const auto allowed = NumberOfKey(text, "THP_enabled:"))
    use.huge_pages_allowed = *allowed != 0;
  use.threads = NumberOfKey(text, "Threads:");
  use.exempt_from_process_limit = ExemptFromProcessLimit(text);
  if (const auto files = ListFolder(folder / "fd"); files && !files->empty()) {
    use.open_files = files->size();
  }
  return use;
}

ProcessPages ReadProcessPages(pid_t pid, const std::filesystem::path& root) {
  const std::string text = ReadText(ProcessFolder(pid, root) / "smaps_rollup").value_or("");
  return {KibibytesOfKey(text, "Rss:"), KibibytesOfKey(text, "AnonHugePages:")};
}

std::optional<ProcessMaps> ReadProcessMaps(pid_t pid, const std::filesystem::path& root) {
  const auto text = ReadText(ProcessFolder(pid, root) / "maps");
  if (!text || text->empty()) return std::nullopt;
  ProcessMaps maps;
  for (const std::string_view line : Lines(*text)) {
    if (line.empty()) continue;
    ++maps.count;
    const auto path = line.find('/');
    if (path == std::string_view::npos) continue;
    const std::string_view file = line.substr(path);
    if (file.starts_with("/dev/nvidia-uvm")) {
      ++maps.uvm;
      maps.uvm_bytes += SizeOf(line);
    }
    const auto rights = line.find(' ');
    if (line.size() < rights + 4 || line[rights + 3] != 'x') continue;
    if (std::ranges::find(maps.libraries, file) == maps.libraries.end()) {
      maps.libraries.emplace_back(file);
    }
  }
  return maps;
}

std::optional<std::string> FindLibrary(const ProcessMaps& maps, std::string_view prefix) {
  for (const std::string& library : maps.libraries) {
    const auto name = library.find_last_of('/') + 1;
    if (std::string_view(library).substr(name).starts_with(prefix)) return library;
  }
  return std::nullopt;
}

std::vector<ThreadState> ReadThreads(pid_t pid, bool with_waits, std::size_t max,
                                     const std::filesystem::path& root) {
  std::vector<ThreadState> threads;
  std::error_code error;
  const auto folder = ProcessFolder(pid, root) / "task";
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end && threads.size() < max; entry.increment(error)) {
    const auto number = ToNumber(entry->path().filename().string());
    const auto stat = ParseStat(ReadText(entry->path() / "stat").value_or(""));
    if (!number || !stat) continue;
    ThreadState thread{static_cast<pid_t>(*number), stat->state,
                       stat->user_ticks + stat->system_ticks, std::nullopt};
    if (with_waits) {
      const auto status = ReadText(entry->path() / "status");
      if (status) thread.waits = NumberOfKey(*status, "voluntary_ctxt_switches:");
    }
    threads.push_back(thread);
  }
  return threads;
}

}  // namespace reveza::platform
