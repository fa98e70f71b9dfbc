#include "live_sources.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "monitor/job_sockets.h"
#include "platform/runtime_paths.h"
#include "run.h"

namespace reveza::cli {
namespace {

// A page that stands still tells less than one that says who does not answer.
constexpr std::chrono::milliseconds kDaemonLimit{1000};

// The kernel keeps some KiB for each file of a process that stays open.
constexpr rlim_t kMostOpen = 4096;
// For sockets, the terminal, libraries of the driver.
constexpr rlim_t kOtherFiles = 256;

// How many files may stay open, once the limit is as high as this process may set it itself.
std::size_t RoomForFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t wanted = std::min(limit.rlim_max, kMostOpen + kOtherFiles);
  if (limit.rlim_cur < wanted) {
    const rlimit higher{wanted, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &higher) == 0) limit.rlim_cur = wanted;
  }
  return std::min(limit.rlim_cur - std::min(limit.rlim_cur, kOtherFiles), kMostOpen);
}

Error ErrorOf(const Trouble& trouble) {
  const auto code =
      trouble.status == kNoDaemon ? Error::Code::kNotFound : Error::Code::kUnavailable;
  return {code, trouble.message};
}

}  // namespace

LiveSources::LiveSources(const daemon::Settings& settings)
    : socket_(SocketOf(settings)),
      jobs_(platform::UserSocket(platform::ProcessEnvironment, getuid()).parent_path() / "jobs") {
  if (auto gpus = platform::LoadNvml()) gpus_ = *std::move(gpus);
  if (auto activity = platform::LoadGpuActivity()) activity_ = *std::move(activity);
}

monitor::Sources LiveSources::sources() {
  monitor::Sources sources;
  sources.daemon = [this] { return AskDaemon(); };
  sources.jobs = [this] { return AskJobs(); };
  sources.gpus = gpus_.get();
  sources.activity = activity_.get();
  sources.clock = &clock_;
  sources.most_open = RoomForFiles();
  sources.wall_time = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  return sources;
}

// The connection is kept; one that broke is made anew the next time.
Result<monitor::DaemonAnswer> LiveSources::AskDaemon() {
  if (!link_) {
    auto link = DaemonLink::Connect(socket_);
    if (!link) return std::unexpected(ErrorOf(link.error()));
    link_.emplace(*std::move(link));
    link_->LimitAnswers(kDaemonLimit);
  }
  auto status = link_->Status();
  if (!status) {
    link_.reset();
    return std::unexpected(ErrorOf(status.error()));
  }
  return monitor::DaemonAnswer{*std::move(status), link_->Peer()};
}

std::vector<monitor::JobAnswer> LiveSources::AskJobs() const {
  const auto sockets = monitor::JobSockets(jobs_);
  if (!sockets) return {{jobs_, std::unexpected(sockets.error()), 0}};
  return monitor::AskJobs(*sockets, "status");
}

}  // namespace reveza::cli
