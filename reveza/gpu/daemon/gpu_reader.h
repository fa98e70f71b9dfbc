// Reads NVML on a thread of its own: a reading may take as long as a handover.
//
// Used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/unique_fd.h"
#include "reveza/gpu/nvml/gpu_monitor.h"

namespace reveza::daemon {

struct GpuReadings {
  std::uint64_t request = 0;  // begun after this request, and all before
  std::optional<std::vector<nvml::GpuReading>> gpus;
};

class GpuReader {
 public:
  // `monitor` must outlive the reader, and is used by its thread only.
  explicit GpuReader(nvml::GpuMonitor& monitor);
  // Waits for a reading in progress.
  ~GpuReader();
  GpuReader(const GpuReader&) = delete;
  GpuReader& operator=(const GpuReader&) = delete;

  // Requests a reading that begins from now on. Returns the number of the request.
  std::uint64_t Request();
  // Becomes readable when there are readings to take.
  int fd() const { return ready_.get(); }
  std::optional<GpuReadings> Take();

 private:
  void Main();

  nvml::GpuMonitor& monitor_;
  UniqueFd ready_;
  Mutex mutex_;
  CondVar changed_;
  std::uint64_t requested_ GUARDED_BY(mutex_) = 0;
  std::optional<GpuReadings> readings_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace reveza::daemon
