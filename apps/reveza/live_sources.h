// What a collector asks on this machine: the daemon, the runners of jobs, NVML.
// Thread-safety: none.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "daemon/settings.h"
#include "daemon_link.h"
#include "monitor/collector.h"
#include "platform/clock.h"
#include "platform/gpu_activity.h"
#include "platform/gpu_monitor.h"

namespace reveza::cli {

class LiveSources {
 public:
  explicit LiveSources(const daemon::Settings& settings);
  LiveSources(const LiveSources&) = delete;
  LiveSources& operator=(const LiveSources&) = delete;

  // Valid as long as this object.
  monitor::Sources sources();

 private:
  Result<monitor::DaemonAnswer> AskDaemon();
  std::vector<monitor::JobAnswer> AskJobs() const;

  std::filesystem::path socket_;
  std::filesystem::path jobs_;
  std::optional<DaemonLink> link_;
  std::unique_ptr<platform::GpuMonitor> gpus_;
  std::unique_ptr<platform::GpuActivity> activity_;
  platform::MonotonicClock clock_;
};

}  // namespace reveza::cli
