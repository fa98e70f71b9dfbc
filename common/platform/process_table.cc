#include "common/platform/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "common/base/parse_number.h"
#include "common/platform/process.h"
#include "common/platform/process_tree.h"
#include "common/platform/text_file.h"

namespace reveza::platform {
namespace {

constexpr std::size_t kMaxText = 64 * 1024;
constexpr std::size_t kOnePiece = 2048;

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

}  // namespace

std::optional<ProcessStat> ParseStat(std::string_view text) {
  static const auto page_size = static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  const auto open = text.find('(');
  // The name may contain blanks and parentheses.
  const auto close = text.rfind(')');
  const auto pid = ToNumber(text);
  if (open == text.npos || close == text.npos || close < open || !pid) return std::nullopt;
  ProcessStat stat;
  stat.pid = static_cast<pid_t>(*pid);
  stat.name = text.substr(open + 1, close - open - 1);
  std::string_view rest = text.substr(close + 1);
  const std::string_view state = NextWord(rest);
  if (state.size() != 1) return std::nullopt;
  stat.state = state.front();
  // The numbers are those of proc(5), where the state is field 3.
  constexpr int first = 4;
  constexpr int last = 24;
  std::array<std::uint64_t, last - first + 1> fields{};
  for (auto& field : fields) {
    // Some fields, such as the terminal, may be negative; none of them is used.
    const auto value = ParseNumber<std::int64_t>(NextWord(rest));
    if (!value) return std::nullopt;
    field = static_cast<std::uint64_t>(std::max<std::int64_t>(*value, 0));
  }
  const auto at = [&](int number) { return fields[static_cast<std::size_t>(number - first)]; };
  stat.parent = static_cast<pid_t>(at(4));
  stat.faults = at(10) + at(12);
  stat.user_ticks = at(14);
  stat.system_ticks = at(15);
  stat.reaped_ticks = at(16) + at(17);
  stat.threads = at(20);
  stat.start_ticks = at(22);
  stat.resident = at(24) * page_size;
  return stat;
}

std::uint64_t TicksPerSecond() {
  const long ticks = sysconf(_SC_CLK_TCK);
  return ticks > 0 ? static_cast<std::uint64_t>(ticks) : 100;
}

ProcessReader::ProcessReader(const std::filesystem::path& root)
    : proc_(open((root / "proc").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
      buffer_(4096, '\0') {}

std::vector<pid_t> ProcessReader::List() {
  std::vector<pid_t> pids;
  if (!proc_) return pids;
  const int fd = openat(proc_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const Folder folder(fd < 0 ? nullptr : fdopendir(fd));
  if (!folder) {
    if (fd >= 0) close(fd);
    return pids;
  }
  while (const dirent* entry = readdir(folder.get())) {
    if (const auto pid = ParseNumber<pid_t>(entry->d_name)) pids.push_back(*pid);
  }
  return pids;
}

UniqueFd ProcessReader::Open(pid_t pid, const char* name) {
  if (!proc_) return {};
  std::array<char, 64> path{};
  fmt::format_to_n(path.data(), path.size() - 1, "{}/{}", pid, name);
  UniqueFd file(openat(proc_.get(), path.data(), O_RDONLY | O_CLOEXEC));
  if (file) ++files_opened_;
  return file;
}

std::optional<std::string_view> ProcessReader::Read(const UniqueFd& file) {
  ++files_read_;
  std::size_t size = 0;
  for (;;) {
    if (size == buffer_.size()) {
      if (size >= kMaxText) break;
      buffer_.resize(size * 2);
    }
    const ssize_t got =
        pread(file.get(), buffer_.data() + size, buffer_.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    // The process exited after the open.
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    // A read of much less than a page is complete; no need to check for end-of-file.
    if (size < kOnePiece && size < buffer_.size()) break;
  }
  return std::string_view(buffer_.data(), size);
}

std::optional<std::string_view> ProcessReader::Read(pid_t pid, const char* name) {
  const UniqueFd file = Open(pid, name);
  return file ? Read(file) : std::nullopt;
}

std::optional<ProcessStat> ProcessReader::Stat(pid_t pid) {
  const auto text = Read(pid, "stat");
  return text ? ParseStat(*text) : std::nullopt;
}

std::optional<std::string_view> ProcessReader::ReadCached(Files& open, pid_t pid,
                                                          const char* name) {
  if (const auto kept = open.find(pid); kept != open.end()) {
    if (const auto text = Read(kept->second)) return text;
    // The process of the cached file has exited; its pid may have been reused.
    open.erase(kept);
  }
  UniqueFd file = Open(pid, name);
  if (!file) return std::nullopt;
  const auto text = Read(file);
  if (text && open_.size() + open_io_.size() < max_open_files_) open.emplace(pid, std::move(file));
  return text;
}

std::optional<ProcessStat> ProcessReader::StatCached(pid_t pid) {
  const auto text = ReadCached(open_, pid, "stat");
  return text ? ParseStat(*text) : std::nullopt;
}

std::optional<ProcessIo> ProcessReader::IoCached(pid_t pid) {
  const auto text = ReadCached(open_io_, pid, "io");
  if (!text) return std::nullopt;
  const auto read = NumberOfKey(*text, "read_bytes:");
  const auto written = NumberOfKey(*text, "write_bytes:");
  return read && written ? std::optional(ProcessIo{*read, *written}) : std::nullopt;
}

void ProcessReader::CloseAllExcept(std::span<const pid_t> sorted) {
  for (Files* open : {&open_, &open_io_}) {
    std::erase_if(
        *open, [&](const auto& kept) { return !std::ranges::binary_search(sorted, kept.first); });
  }
}

std::optional<ProcessMemory> ProcessReader::Memory(pid_t pid) {
  const auto text = Read(pid, "status");
  if (!text) return std::nullopt;
  ProcessMemory memory;
  memory.peak = KibibytesOfKey(*text, "VmHWM:");
  memory.anonymous = KibibytesOfKey(*text, "RssAnon:");
  memory.shared = KibibytesOfKey(*text, "RssShmem:");
  return memory;
}

std::optional<Bytes> ProcessReader::ProportionalMemory(pid_t pid) {
  const auto text = Read(pid, "smaps_rollup");
  return text ? KibibytesOfKey(*text, "Pss:") : std::nullopt;
}

std::optional<Bytes> ProcessReader::ProgramMemory(pid_t pid) {
  if (const auto text = Read(pid, "smaps_rollup")) {
    const auto anonymous = KibibytesOfKey(*text, "Pss_Anon:");
    const auto shared = KibibytesOfKey(*text, "Pss_Shmem:");
    if (anonymous && shared) return *anonymous + *shared;
  }
  const auto memory = Memory(pid);
  if (!memory || !memory->anonymous) return std::nullopt;
  return *memory->anonymous + memory->shared.value_or(0);
}

std::string ProcessReader::Command(pid_t pid) {
  return JoinArguments(std::string(Read(pid, "cmdline").value_or("")));
}

std::vector<pid_t> ProcessReader::Descendants(pid_t pid) {
  if (!proc_ || faccessat(proc_.get(), std::to_string(pid).c_str(), F_OK, 0) != 0) return {};
  bool supported = true;
  auto found = CollectDescendants(pid, [&](pid_t parent, std::vector<pid_t>& children) {
    supported = supported && AppendChildren(proc_.get(), parent, children);
  });
  if (supported) return found;
  std::unordered_map<pid_t, std::vector<pid_t>> children_of;
  for (const pid_t other : List()) {
    if (const auto stat = Stat(other)) children_of[stat->parent].push_back(other);
  }
  return CollectDescendants(pid, children_of);
}

std::uint64_t ProcessReader::SumTicks(std::span<const pid_t> pids) {
  std::uint64_t ticks = 0;
  for (const pid_t pid : pids) {
    const auto stat = Stat(pid);
    if (stat) ticks += stat->user_ticks + stat->system_ticks + stat->reaped_ticks;
  }
  return ticks;
}

std::optional<Bytes> ProcessReader::SumProgram(std::span<const pid_t> pids) {
  std::optional<Bytes> sum;
  for (const pid_t pid : pids) {
    if (const auto bytes = ProgramMemory(pid)) sum = sum.value_or(0) + *bytes;
  }
  return sum;
}

}  // namespace reveza::platform
