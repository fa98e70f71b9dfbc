// The sources of a monitor::Collector on this machine: daemon, job runners, NVML. Not thread-safe.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "common/platform/clock.h"
#include "reveza/cli/reveza/daemon_link.h"
#include "reveza/gpu/nvml/gpu_activity.h"
#include "reveza/gpu/nvml/gpu_monitor.h"
#include "reveza/insight/monitor/collector.h"

namespace reveza::cli {

class LiveSources {
 public:
  explicit LiveSources(const std::vector<std::filesystem::path>& sockets);
  LiveSources(const LiveSources&) = delete;
  LiveSources& operator=(const LiveSources&) = delete;

  // Returns sources that refer to this object and are valid during its lifetime.
  monitor::Sources sources();

 private:
  struct Place {
    std::filesystem::path socket;
    std::optional<DaemonLink> link;
  };

  static Result<monitor::DaemonAnswer> QueryDaemon(Place& place);
  std::vector<monitor::JobAnswer> QueryJobs() const;

  std::vector<Place> daemons_;
  std::filesystem::path jobs_;
  std::unique_ptr<nvml::GpuMonitor> gpus_;
  std::unique_ptr<nvml::GpuActivity> activity_;
  platform::MonotonicClock clock_;
};

}  // namespace reveza::cli
