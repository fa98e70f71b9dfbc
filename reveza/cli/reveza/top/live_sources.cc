#include "reveza/cli/reveza/top/live_sources.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/platform/runtime_paths.h"
#include "reveza/insight/monitor/job_sockets.h"

namespace reveza::cli {
namespace {

// Short, so that an unresponsive daemon does not freeze the display.
constexpr std::chrono::milliseconds kDaemonTimeout{1000};

// The kernel keeps some KiB for each open file of /proc.
constexpr rlim_t kMaxOpen = 4096;
// For sockets, the terminal and the driver's libraries.
constexpr rlim_t kOtherFiles = 256;

// Raises the soft limit of open files as far as needed. Returns how many files may stay open.
std::size_t MaxOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t wanted = std::min(limit.rlim_max, kMaxOpen + kOtherFiles);
  if (limit.rlim_cur < wanted) {
    const rlimit higher{wanted, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &higher) == 0) limit.rlim_cur = wanted;
  }
  return std::min(limit.rlim_cur - std::min(limit.rlim_cur, kOtherFiles), kMaxOpen);
}

Error ToError(const CommandError& error) {
  const auto code = error.status == kNoDaemon ? Error::Code::kNotFound : Error::Code::kUnavailable;
  return {code, error.message};
}

}  // namespace

LiveSources::LiveSources(const std::vector<std::filesystem::path>& sockets)
    : jobs_(platform::UserSocket(platform::ProcessEnvironment, getuid()).parent_path() / "jobs") {
  for (const auto& socket : sockets) daemons_.push_back({socket, std::nullopt});
  if (auto gpus = nvml::LoadNvml()) gpus_ = *std::move(gpus);
  if (auto activity = nvml::LoadGpuActivity()) activity_ = *std::move(activity);
}

monitor::Sources LiveSources::sources() {
  monitor::Sources sources;
  sources.daemons = [this] {
    std::vector<Result<monitor::DaemonAnswer>> answers;
    for (Place& place : daemons_) answers.push_back(QueryDaemon(place));
    return answers;
  };
  sources.jobs = [this] { return QueryJobs(); };
  sources.gpus = gpus_.get();
  sources.activity = activity_.get();
  sources.clock = &clock_;
  sources.max_open_files = MaxOpenFiles();
  sources.wall_time = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  return sources;
}

// Keeps the connection; reconnects after an error.
Result<monitor::DaemonAnswer> LiveSources::QueryDaemon(Place& place) {
  if (!place.link) {
    auto link = DaemonLink::Connect(place.socket);
    if (!link) return std::unexpected(ToError(link.error()));
    place.link.emplace(*std::move(link));
    place.link->SetTimeout(kDaemonTimeout);
  }
  auto status = place.link->Status();
  if (!status) {
    place.link.reset();
    return std::unexpected(ToError(status.error()));
  }
  return monitor::DaemonAnswer{place.socket.string(), *std::move(status), place.link->Peer()};
}

std::vector<monitor::JobAnswer> LiveSources::QueryJobs() const {
  const auto sockets = monitor::JobSockets(jobs_);
  if (!sockets) return {{jobs_, std::unexpected(sockets.error()), 0}};
  return monitor::QueryJobSockets(*sockets, "status");
}

}  // namespace reveza::cli
