// What processes use, as /proc says: many of them cheaply, and whose children they are.
//
// A process may end between any two of these calls, and /proc may hide those of other users: both
// read as nothing, never as an error and never as 0.
// Thread-safety: a ProcessReader none, it keeps a buffer and files; the rest are values.
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

#include "base/bytes.h"
#include "base/unique_fd.h"

namespace reveza::platform {

// One line of /proc/PID/stat: one read, and all that a table of all processes needs.
struct ProcessStat {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;  // at most 15 letters, as the kernel keeps it
  char state = '?';  // R running, S sleeping, D in the kernel, T stopped, Z dead, not yet reaped
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  std::uint64_t threads = 0;
  std::uint64_t start_ticks = 0;   // since boot; with the pid, a name that no later process has
  Bytes resident = 0;              // shared pages counted whole
  std::uint64_t faults = 0;        // pages that it has been given: none, and it has no more memory
  std::uint64_t reaped_ticks = 0;  // user and system ticks of children that have ended, and theirs
  bool operator==(const ProcessStat&) const = default;
};

// From /proc/PID/status. A kernel thread and a dead process have none of these.
struct ProcessMemory {
  std::optional<Bytes> resident;   // VmRSS
  std::optional<Bytes> peak;       // VmHWM: the largest VmRSS so far
  std::optional<Bytes> anonymous;  // RssAnon
  std::optional<Bytes> shared;     // RssShmem: shared memory, files not counted
  std::optional<Bytes> swapped;    // VmSwap
  std::optional<Bytes> addresses;  // VmSize: address space, which is no memory
};

// From /proc/PID/io: what really went to and came from storage. Only for one's own processes.
struct ProcessTraffic {
  Bytes read = 0;
  Bytes written = 0;
};

struct SummedMemory {
  Bytes bytes = 0;
  std::size_t counted = 0;   // processes that are in the sum
  std::size_t vanished = 0;  // that ended meanwhile or may not be read
};

// How long a tick of user_ticks and system_ticks is: a second has this many.
std::uint64_t TicksPerSecond();

class ProcessReader {
 public:
  explicit ProcessReader(const std::filesystem::path& root = "/");

  // All that /proc shows, in no order.
  std::vector<pid_t> List();

  std::optional<ProcessStat> Stat(pid_t pid);
  // The same for who asks again and again: the files of at most so many stay open, which saves two
  // thirds of the work. None do until KeepOpen is called.
  void KeepOpen(std::size_t most) { most_open_ = most; }
  std::optional<ProcessStat> StatAgain(pid_t pid);
  // Closes what stays open but for these, which are sorted.
  void CloseOthers(std::span<const pid_t> sorted);
  std::optional<ProcessMemory> Memory(pid_t pid);
  std::optional<ProcessTraffic> Traffic(pid_t pid);
  // Its share of memory: shared pages divided among those that share them (Pss of smaps_rollup).
  // Dear: the kernel walks all its pages.
  std::optional<Bytes> ProportionalMemory(pid_t pid);
  // What it has itself: anonymous and shared memory, of files that it has mapped nothing, because
  // their pages are the kernel's to drop. Shared pages divided among those that share them where
  // the kernel says so (smaps_rollup since Linux 5.9), else counted whole (status).
  std::optional<Bytes> ProgramMemory(pid_t pid);
  // The lines of /proc/PID/cgroup; empty when it cannot be read.
  std::string Cgroups(pid_t pid);
  // Arguments with blanks between them; empty when it cannot be read.
  std::string Command(pid_t pid);

  // `pid` and all below it, itself first; empty when it does not exist. Reads `children` of its
  // threads, which few kernels lack; with those, all of /proc once.
  std::vector<pid_t> Descendants(pid_t pid);

  // CPU time of all of them, in ticks: with that of what they started and what has ended since.
  std::uint64_t SumTicks(std::span<const pid_t> pids);

  // Proportional memory of all of them: what they would free if they ended together.
  SummedMemory SumProportional(std::span<const pid_t> pids);

  // Program memory of all of them.
  SummedMemory SumProgram(std::span<const pid_t> pids);

  // Files read and files opened so far: what a refresh costs, without a clock.
  std::uint64_t files_read() const { return files_read_; }
  std::uint64_t files_opened() const { return files_opened_; }

 private:
  UniqueFd Open(pid_t pid, const char* name);
  // What is in it, valid until the next read; nothing when it cannot be read.
  std::optional<std::string_view> Read(const UniqueFd& file);
  // What is in /proc/PID/<name>.
  std::optional<std::string_view> Read(pid_t pid, const char* name);
  bool ReadChildren(pid_t pid, std::vector<pid_t>& children);

  UniqueFd proc_;
  std::string buffer_;
  std::unordered_map<pid_t, UniqueFd> open_;  // /proc/PID/stat
  std::size_t most_open_ = 0;
  std::uint64_t files_read_ = 0;
  std::uint64_t files_opened_ = 0;
};

// All processes of one moment.
class ProcessTable {
 public:
  ProcessTable() = default;
  explicit ProcessTable(std::vector<ProcessStat> processes);
  // One file a process.
  static ProcessTable Read(ProcessReader& reader);

  std::span<const ProcessStat> processes() const { return processes_; }
  const ProcessStat* Find(pid_t pid) const;
  // `pid` and all below it, itself first, parents before children; empty when it is not there.
  std::vector<pid_t> Descendants(pid_t pid) const;

 private:
  std::vector<ProcessStat> processes_;                   // by pid
  std::unordered_map<pid_t, std::vector<pid_t>> below_;  // children of each that has some
};

}  // namespace reveza::platform
