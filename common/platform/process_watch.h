// Tracks all processes by repeated sampling at low cost.
//
// Parents hardly ever change, so they are cached and refreshed round robin: each process is read at
// least every ten seconds. Only the processes of interest are read at each refresh, from files that
// stay open.
//
// A reused pid is noticed when its turn comes, or at once for a process of interest. Not
// thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/platform/process_table.h"

namespace reveza::platform {

// Spreads work evenly over time, so that each process is handled once per period.
class RoundRobin {
 public:
  explicit RoundRobin(std::chrono::nanoseconds period) : period_(period) {}

  // Returns the processes of `sorted` that are due `elapsed` after the last call, each at most
  // once, continuing after the last one of that call.
  std::vector<pid_t> Take(std::span<const pid_t> sorted, std::chrono::nanoseconds elapsed);

 private:
  std::chrono::nanoseconds period_;
  std::uint64_t credit_ = 0;  // processes x nanoseconds
  pid_t last_ = 0;
};

class ProcessWatch {
 public:
  static constexpr std::chrono::seconds kPeriod{10};

  // Keeps at most `max_open_files` files open.
  explicit ProcessWatch(const std::filesystem::path& root = "/", std::size_t max_open_files = 256);

  // Refreshes the list of processes. The first call reads all of them, later ones those that are
  // new, lost their parent, or are due. `now` is the time since a fixed origin and must not
  // decrease.
  void Refresh(std::chrono::nanoseconds now);

  // Reads these processes again. Returns false if one has exited or changed its parent, so that
  // descendants must be determined again.
  bool Read(std::span<const pid_t> pids);

  std::size_t size() const { return entries_.size(); }
  // Returns the process as last read, or nullptr.
  const ProcessStat* Find(pid_t pid) const;
  // Returns `pid` and its descendants, `pid` first; empty if it does not exist.
  std::vector<pid_t> Descendants(pid_t pid) const;
  // Returns the CPU usage in cores between the last two readings; for a process started between the
  // last two refreshes, since its start. nullopt until it has been read twice in a row.
  std::optional<double> Cpu(pid_t pid) const;

  ProcessReader& reader() { return reader_; }

 private:
  struct Entry {
    ProcessStat stat;
    std::uint64_t refresh = 0;    // the refresh in which it was last read
    std::uint64_t requested = 0;  // the refresh in which Read() last requested it
    std::chrono::nanoseconds read_at{0};
    std::optional<double> cpu;
  };

  std::vector<pid_t> Due(std::span<const pid_t> listed, std::chrono::nanoseconds elapsed);
  // Stores a reading. Returns whether the process still exists with the same parent.
  bool Store(pid_t pid, const std::optional<ProcessStat>& stat);
  void RebuildChildren();

  ProcessReader reader_;
  std::map<pid_t, Entry> entries_;
  std::unordered_map<pid_t, std::vector<pid_t>> children_;  // by parent
  RoundRobin round_robin_{kPeriod};
  std::uint64_t refresh_ = 0;           // number of refreshes
  std::chrono::nanoseconds now_{0};     // of the last refresh
  std::uint64_t newest_ = 0;            // latest start time of any process, in ticks
  std::chrono::nanoseconds before_{0};  // of the refresh before
};

}  // namespace reveza::platform
