// Resource usage and parents of processes from /proc, optimised for many processes.
//
// A process may exit between two calls, and /proc may hide other users' processes: both yield
// nullopt, never an error and never 0. ProcessReader is not thread-safe; the rest are values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/unique_fd.h"

namespace reveza::platform {

// From /proc/PID/stat: a single read has all that a table of processes needs.
struct ProcessStat {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;  // truncated to 15 characters by the kernel
  char state = '?';  // R running, S sleeping, D uninterruptible, T stopped, Z zombie
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  std::uint64_t threads = 0;
  std::uint64_t start_ticks = 0;   // since boot; unique together with the pid
  Bytes resident = 0;              // shared pages count fully
  std::uint64_t faults = 0;        // page faults; unchanged if the process got no memory
  std::uint64_t reaped_ticks = 0;  // CPU time of reaped descendants
  bool operator==(const ProcessStat&) const = default;
};

// Parses the text of /proc/PID/stat or /proc/PID/task/TID/stat.
std::optional<ProcessStat> ParseStat(std::string_view text);

// From /proc/PID/status. Kernel threads and zombies have none of these.
struct ProcessMemory {
  std::optional<Bytes> peak;       // VmHWM: the largest VmRSS so far
  std::optional<Bytes> anonymous;  // RssAnon
  std::optional<Bytes> shared;     // RssShmem: shared memory without files
};

// Returns the number of clock ticks per second (the unit of user_ticks and system_ticks).
std::uint64_t TicksPerSecond();

// Bytes that a process and its reaped children made storage read and write.
struct ProcessIo {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  bool operator==(const ProcessIo&) const = default;
};

class ProcessReader {
 public:
  explicit ProcessReader(const std::filesystem::path& root = "/");

  // Returns the visible processes in no particular order.
  std::vector<pid_t> List();

  std::optional<ProcessStat> Stat(pid_t pid);
  // Sets how many files StatCached() keeps open. The default is 0.
  void SetMaxOpenFiles(std::size_t max) { max_open_files_ = max; }
  // Like Stat() for repeated calls: keeps the file open, which saves two thirds of the cost.
  std::optional<ProcessStat> StatCached(pid_t pid);
  // Like StatCached(). Only for processes of the same user.
  std::optional<ProcessIo> IoCached(pid_t pid);
  // Closes all cached files except those of `sorted`, which must be sorted.
  void CloseAllExcept(std::span<const pid_t> sorted);
  std::optional<ProcessMemory> Memory(pid_t pid);
  // Returns the proportional set size (Pss of smaps_rollup). Expensive: the kernel walks all pages.
  std::optional<Bytes> ProportionalMemory(pid_t pid);
  // Returns anonymous and shared memory without mapped files, whose pages the kernel can drop.
  // Shared pages count proportionally with smaps_rollup since Linux 5.9, else fully (status).
  std::optional<Bytes> ProgramMemory(pid_t pid);
  // Returns the arguments separated by spaces, or "" if they cannot be read.
  std::string Command(pid_t pid);

  // Returns `pid` and its descendants, `pid` first; empty if it does not exist. Reads the
  // `children` files of threads; on the few kernels without them, scans /proc once.
  std::vector<pid_t> Descendants(pid_t pid);

  // Returns the CPU time of the processes and of their reaped descendants, in ticks.
  std::uint64_t SumTicks(std::span<const pid_t> pids);

  // Returns the summed program memory of those that can be read; nullopt if none can.
  std::optional<Bytes> SumProgram(std::span<const pid_t> pids);

  // Counters of file reads and opens, for tests of the cost of a refresh.
  std::uint64_t files_read() const { return files_read_; }
  std::uint64_t files_opened() const { return files_opened_; }

 private:
  using Files = std::unordered_map<pid_t, UniqueFd>;

  UniqueFd Open(pid_t pid, const char* name);
  // Reads /proc/PID/<name> through a file of `open`, which keeps it.
  std::optional<std::string_view> ReadCached(Files& open, pid_t pid, const char* name);
  // Returns the contents, valid until the next read; nullopt if reading fails.
  std::optional<std::string_view> Read(const UniqueFd& file);
  // Reads /proc/PID/<name>.
  std::optional<std::string_view> Read(pid_t pid, const char* name);

  UniqueFd proc_;
  std::string buffer_;
  Files open_;     // /proc/PID/stat
  Files open_io_;  // /proc/PID/io
  std::size_t max_open_files_ = 0;
  std::uint64_t files_read_ = 0;
  std::uint64_t files_opened_ = 0;
};

}  // namespace reveza::platform
