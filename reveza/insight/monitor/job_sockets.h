// Client for the Unix sockets of job runners; requests and responses are single lines of JSON.
//
// Runners are queried concurrently with a common timeout and bounded responses, so one that hangs
// or misbehaves does not affect the others. Invalid responses are reported as errors. Thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/insight/monitor/snapshot.h"

namespace reveza::monitor {

inline constexpr std::chrono::milliseconds kJobTimeout{200};
inline constexpr std::size_t kMaxJobAnswer = 1 << 20;

// Returns all *.sock files in `folder`, sorted; empty if the folder does not exist.
Result<std::vector<std::filesystem::path>> JobSockets(const std::filesystem::path& folder);

// The response of a runner.
struct JobAnswer {
  std::filesystem::path socket;
  Result<std::string> line;  // kNotFound: no process listens (stale socket)
  pid_t peer = 0;            // pid of the runner; 0 if in another pid namespace
};

// Sends {"request":`request`} to all sockets concurrently and waits up to `limit` for the
// responses.
std::vector<JobAnswer> QueryJobSockets(std::span<const std::filesystem::path> sockets,
                                       std::string_view request,
                                       std::chrono::milliseconds limit = kJobTimeout);

// Parses a response to "status". Unknown fields are ignored; fails for other versions and invalid
// JSON. Pids are omitted if the runner is in another pid namespace (`peer` differs from its
// reported pid).
Result<Job> ParseJobStatus(const JobAnswer& answer);

// Sends "pause", "resume" or "cancel". Fails with the runner's error message.
Status SendJobRequest(const std::filesystem::path& socket, std::string_view request,
                      std::chrono::milliseconds limit = kJobTimeout);

}  // namespace reveza::monitor
