#include "platform/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace reveza::platform {
namespace {

constexpr std::size_t kMostText = 64 * 1024;
constexpr std::size_t kOnePiece = 2048;

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

template <typename Number>
std::optional<Number> ToNumber(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<pid_t> ToPid(std::string_view text) {
  const auto pid = ToNumber<pid_t>(text);
  return pid && *pid > 0 ? pid : std::nullopt;
}

// Takes the next word off the front.
std::string_view NextWord(std::string_view& text) {
  const auto begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return text = {};
  const auto end = std::min(text.find_first_of(" \t\n", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

// The first number behind "<key>:" at the beginning of a line.
std::optional<Bytes> ValueOf(std::string_view text, std::string_view key) {
  for (std::size_t line = 0; line < text.size();) {
    const auto rest = text.substr(line);
    if (rest.size() > key.size() && rest.starts_with(key) && rest[key.size()] == ':') {
      auto words = rest.substr(key.size() + 1);
      return ToNumber<Bytes>(NextWord(words));
    }
    const auto end = text.find('\n', line);
    if (end == std::string_view::npos) break;
    line = end + 1;
  }
  return std::nullopt;
}

std::optional<Bytes> KibibytesOf(std::string_view text, std::string_view key) {
  const auto value = ValueOf(text, key);
  return value ? std::optional<Bytes>(*value * kKiB) : std::nullopt;
}

// The fields of stat that are behind the name, from the state on: proc(5) calls it the third.
std::optional<ProcessStat> ParseStat(pid_t pid, std::string_view text) {
  static const auto page_size = static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  const auto open = text.find('(');
  // The name may itself hold blanks and parentheses.
  const auto close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  ProcessStat stat;
  stat.pid = pid;
  stat.name = text.substr(open + 1, close - open - 1);
  std::string_view rest = text.substr(close + 1);
  const std::string_view state = NextWord(rest);
  if (state.size() != 1) return std::nullopt;
  stat.state = state.front();
  constexpr int first = 4;
  constexpr int last = 24;
  std::array<std::uint64_t, last - first + 1> fields{};
  for (auto& field : fields) {
    const std::string_view word = NextWord(rest);
    // Some, like the terminal, may be negative; none of those is wanted.
    const auto value = ToNumber<std::int64_t>(word);
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

}  // namespace

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
    if (const auto pid = ToPid(entry->d_name)) pids.push_back(*pid);
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
      if (size >= kMostText) break;
      buffer_.resize(size * 2);
    }
    const ssize_t got =
        pread(file.get(), buffer_.data() + size, buffer_.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    // Opened, but ended before it was read.
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    // What is much less than a page comes in one piece: no need to ask for the end.
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
  return text ? ParseStat(pid, *text) : std::nullopt;
}

std::optional<ProcessStat> ProcessReader::StatAgain(pid_t pid) {
  if (const auto kept = open_.find(pid); kept != open_.end()) {
    if (const auto text = Read(kept->second)) return ParseStat(pid, *text);
    // The file is of a process that has ended; another one may have its number now.
    open_.erase(kept);
  }
  UniqueFd file = Open(pid, "stat");
  if (!file) return std::nullopt;
  const auto text = Read(file);
  if (!text) return std::nullopt;
  auto stat = ParseStat(pid, *text);
  if (open_.size() < most_open_) open_.emplace(pid, std::move(file));
  return stat;
}

void ProcessReader::CloseOthers(std::span<const pid_t> sorted) {
  std::erase_if(open_,
                [&](const auto& kept) { return !std::ranges::binary_search(sorted, kept.first); });
}

std::optional<ProcessMemory> ProcessReader::Memory(pid_t pid) {
  const auto text = Read(pid, "status");
  if (!text) return std::nullopt;
  ProcessMemory memory;
  memory.resident = KibibytesOf(*text, "VmRSS");
  memory.peak = KibibytesOf(*text, "VmHWM");
  memory.anonymous = KibibytesOf(*text, "RssAnon");
  memory.shared = KibibytesOf(*text, "RssShmem");
  memory.swapped = KibibytesOf(*text, "VmSwap");
  memory.addresses = KibibytesOf(*text, "VmSize");
  return memory;
}

std::optional<ProcessTraffic> ProcessReader::Traffic(pid_t pid) {
  const auto text = Read(pid, "io");
  if (!text) return std::nullopt;
  const auto read = ValueOf(*text, "read_bytes");
  const auto written = ValueOf(*text, "write_bytes");
  if (!read || !written) return std::nullopt;
  return ProcessTraffic{*read, *written};
}

std::optional<Bytes> ProcessReader::ProportionalMemory(pid_t pid) {
  const auto text = Read(pid, "smaps_rollup");
  return text ? KibibytesOf(*text, "Pss") : std::nullopt;
}

std::optional<Bytes> ProcessReader::ProgramMemory(pid_t pid) {
  if (const auto text = Read(pid, "smaps_rollup")) {
    const auto anonymous = KibibytesOf(*text, "Pss_Anon");
    const auto shared = KibibytesOf(*text, "Pss_Shmem");
    if (anonymous && shared) return *anonymous + *shared;
  }
  const auto memory = Memory(pid);
  if (!memory || !memory->anonymous) return std::nullopt;
  return *memory->anonymous + memory->shared.value_or(0);
}

std::string ProcessReader::Cgroups(pid_t pid) {
  const auto text = Read(pid, "cgroup");
  return text ? std::string(*text) : std::string();
}

std::string ProcessReader::Command(pid_t pid) {
  const auto text = Read(pid, "cmdline");
  std::string command(text ? *text : std::string_view());
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::ranges::replace(command, '\0', ' ');
  return command;
}

// False when this kernel does not say; a process that ended has no children.
bool ProcessReader::ReadChildren(pid_t pid, std::vector<pid_t>& children) {
  const auto tasks = fmt::format("{}/task", pid);
  const int fd = openat(proc_.get(), tasks.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const Folder folder(fd < 0 ? nullptr : fdopendir(fd));
  if (!folder) {
    if (fd >= 0) close(fd);
    return fd < 0 && errno == ENOENT;
  }
  bool told = true;
  while (const dirent* entry = readdir(folder.get())) {
    const auto task = ToPid(entry->d_name);
    if (!task) continue;
    const auto name = fmt::format("task/{}/children", *task);
    const auto text = Read(pid, name.c_str());
    if (!text) {
      // A thread that has just ended has no folder either; a kernel without the file has one.
      const auto place = fmt::format("{}/task/{}", pid, *task);
      if (faccessat(proc_.get(), place.c_str(), F_OK, 0) == 0) told = false;
      continue;
    }
    for (std::string_view rest = *text;;) {
      const auto child = ToPid(NextWord(rest));
      if (!child) break;
      children.push_back(*child);
    }
  }
  return told;
}

std::vector<pid_t> ProcessReader::Descendants(pid_t pid) {
  if (!proc_) return {};
  std::vector<pid_t> found = {pid};
  std::unordered_set<pid_t> seen = {pid};
  if (faccessat(proc_.get(), std::to_string(pid).c_str(), F_OK, 0) != 0) return {};
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::vector<pid_t> children;
    if (!ReadChildren(found[i], children)) return ProcessTable::Read(*this).Descendants(pid);
    for (const pid_t child : children) {
      if (seen.insert(child).second) found.push_back(child);
    }
  }
  return found;
}

std::uint64_t ProcessReader::SumTicks(std::span<const pid_t> pids) {
  std::uint64_t ticks = 0;
  for (const pid_t pid : pids) {
    const auto stat = Stat(pid);
    if (stat) ticks += stat->user_ticks + stat->system_ticks + stat->reaped_ticks;
  }
  return ticks;
}

namespace {

template <typename Read>
SummedMemory SumOf(std::span<const pid_t> pids, const Read& read) {
  SummedMemory sum;
  for (const pid_t pid : pids) {
    if (const std::optional<Bytes> bytes = read(pid)) {
      sum.bytes += *bytes;
      ++sum.counted;
    } else {
      ++sum.vanished;
    }
  }
  return sum;
}

}  // namespace

SummedMemory ProcessReader::SumProportional(std::span<const pid_t> pids) {
  return SumOf(pids, [this](pid_t pid) { return ProportionalMemory(pid); });
}

SummedMemory ProcessReader::SumProgram(std::span<const pid_t> pids) {
  return SumOf(pids, [this](pid_t pid) { return ProgramMemory(pid); });
}

ProcessTable::ProcessTable(std::vector<ProcessStat> processes) : processes_(std::move(processes)) {
  std::ranges::sort(processes_, {}, &ProcessStat::pid);
  for (const auto& process : processes_) {
    if (process.parent > 0) below_[process.parent].push_back(process.pid);
  }
}

ProcessTable ProcessTable::Read(ProcessReader& reader) {
  std::vector<ProcessStat> processes;
  for (const pid_t pid : reader.List()) {
    if (auto stat = reader.Stat(pid)) processes.push_back(*std::move(stat));
  }
  return ProcessTable(std::move(processes));
}

const ProcessStat* ProcessTable::Find(pid_t pid) const {
  const auto found = std::ranges::lower_bound(processes_, pid, {}, &ProcessStat::pid);
  return found != processes_.end() && found->pid == pid ? &*found : nullptr;
}

std::vector<pid_t> ProcessTable::Descendants(pid_t pid) const {
  if (Find(pid) == nullptr) return {};
  std::vector<pid_t> found = {pid};
  // A table is not read at one instant: a reused number must not make a ring.
  std::unordered_set<pid_t> seen = {pid};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto children = below_.find(found[i]);
    if (children == below_.end()) continue;
    for (const pid_t child : children->second) {
      if (seen.insert(child).second) found.push_back(child);
    }
  }
  return found;
}

}  // namespace reveza::platform
