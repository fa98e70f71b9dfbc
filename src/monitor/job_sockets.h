// Asking the runners of jobs how they are, on their Unix sockets: one line of JSON each way.
//
// A runner that hangs, speaks nonsense or for ever costs one time limit and some memory, no more:
// all are asked at once, and what is not understood is reported, not believed.
// Thread-safety: pure functions of the system.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "monitor/snapshot.h"

namespace reveza::monitor {

inline constexpr std::chrono::milliseconds kJobAnswerLimit{200};
inline constexpr std::size_t kMostJobAnswer = 1 << 20;

// Every *.sock in `folder`, by name; empty when there is no such folder.
Result<std::vector<std::filesystem::path>> JobSockets(const std::filesystem::path& folder);

// One line from a runner.
struct JobAnswer {
  std::filesystem::path socket;
  Result<std::string> line;  // kNotFound: nobody listens, a runner that is gone
  pid_t peer = 0;            // who listens; 0 when it cannot be seen from here
};

// Sends {"request":`request`} to all of them at once and waits for their answers, at most `limit`
// in all.
std::vector<JobAnswer> AskJobs(std::span<const std::filesystem::path> sockets,
                               std::string_view request,
                               std::chrono::milliseconds limit = kJobAnswerLimit);

// What an answer to "status" says. Unknown fields are ignored; another version, or no JSON, is an
// error. Where the process numbers in it are not ours (`peer` is not who it says it is), they are
// left out.
Result<Job> ParseJobStatus(const JobAnswer& answer);

// "pause", "resume" or "cancel". The error is the runner's own words.
Status TellJob(const std::filesystem::path& socket, std::string_view request,
               std::chrono::milliseconds limit = kJobAnswerLimit);

}  // namespace reveza::monitor
