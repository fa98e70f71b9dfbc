// One line a step with the columns of GNU parallel's --joblog, so that what reads those files reads
// ours: Seq, Host, Starttime, JobRuntime, Send, Receive, Exitval, Signal, Command, with tabs
// between. Thread-safety: pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace reveza::runner {

struct JoblogEntry {
  std::uint64_t number = 0;                       // of the step in its job, from 1
  std::string host = ":";                         // this machine, as GNU parallel writes it
  std::chrono::system_clock::time_point start{};  // of the attempt that the line is about
  std::chrono::nanoseconds duration{0};           // in which it ran
  std::uint64_t sent = 0;                         // bytes, to other machines
  std::uint64_t received = 0;                     // bytes of output
  int exit_status = 0;                            // 0 where a signal ended it
  int signal = 0;                                 // 0 where none did
  std::string command;                            // as it was run
};

// "Seq\tHost\t...", with the end of the line.
std::string_view JoblogHeader();

// With the end of the line. A character of the command that would break the line is written as \t,
// \n or \xHH.
std::string JoblogLine(const JoblogEntry& entry);

}  // namespace reveza::runner
