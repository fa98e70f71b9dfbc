// All processes, looked at again and again at little cost.
//
// Whose child a process is hardly ever changes: it is remembered, and read again in turn, so that
// each is read every ten seconds at least. Only those that are named are read at each look, from
// files that stay open, and have no turn beside that.
//
// A process whose number another one has taken over between two looks is noticed in its turn; where
// it is named, at once.
// Thread-safety: none; one thread owns a watch.
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

#include "platform/process_table.h"

namespace reveza::platform {

// Spreads work over time: so much of it is due at each look that all is done once in a period.
class InTurn {
 public:
  explicit InTurn(std::chrono::nanoseconds period) : period_(period) {}

  // Of `sorted`, those whose turn it is when `elapsed` has passed since the last call; each at most
  // once. They continue behind the last of the call before.
  std::vector<pid_t> Take(std::span<const pid_t> sorted, std::chrono::nanoseconds elapsed);

 private:
  std::chrono::nanoseconds period_;
  std::uint64_t credit_ = 0;  // in processes times nanoseconds
  pid_t last_ = 0;
};

class ProcessWatch {
 public:
  static constexpr std::chrono::seconds kPeriod{10};

  // Keeps at most `most_open` files open.
  explicit ProcessWatch(const std::filesystem::path& root = "/", std::size_t most_open = 256);

  // Looks who is there. The first look reads all, each later one the new ones, those whose parent
  // has ended, and those whose turn it is. `now`: since any fixed origin, never less than before.
  void Look(std::chrono::nanoseconds now);

  // Reads these again, as they are now. False when one of them is gone, or is no longer whose child
  // it was: families must be asked for again.
  bool Read(std::span<const pid_t> pids);

  std::size_t size() const { return entries_.size(); }
  // As last read; nothing when it is not there.
  const ProcessStat* Find(pid_t pid) const;
  // `pid` and all below it, itself first; empty when it is not there.
  std::vector<pid_t> Descendants(pid_t pid) const;
  // In cores, between the last reading and the one before. One that began between the last two
  // looks: all that it used since. Nothing before it was seen twice, also when it could not be read
  // for a while.
  std::optional<double> Cpu(pid_t pid) const;

  ProcessReader& reader() { return reader_; }

 private:
  struct Entry {
    ProcessStat stat;
    std::uint64_t look = 0;   // in which it was last read, and when that was
    std::uint64_t named = 0;  // the look in which it was last named
    std::chrono::nanoseconds read_at{0};
    std::optional<double> cpu;
  };

  std::vector<pid_t> Changed(std::span<const pid_t> listed, std::chrono::nanoseconds elapsed);
  // Whether it is still there, and still whose child it was.
  bool Take(pid_t pid, const std::optional<ProcessStat>& stat);
  void FindFamilies();

  ProcessReader reader_;
  std::map<pid_t, Entry> entries_;
  std::unordered_map<pid_t, std::vector<pid_t>> below_;  // children of each that has some
  InTurn turns_{kPeriod};
  std::uint64_t look_ = 0;              // how many there have been
  std::chrono::nanoseconds now_{0};     // of this one
  std::uint64_t newest_ = 0;            // the latest start of all that were seen, in ticks
  std::chrono::nanoseconds before_{0};  // of the one before
};

}  // namespace reveza::platform
