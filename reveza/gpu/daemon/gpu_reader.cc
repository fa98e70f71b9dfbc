#include "reveza/gpu/daemon/gpu_reader.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace reveza::daemon {

GpuReader::GpuReader(nvml::GpuMonitor& monitor)
    : monitor_(monitor),
      ready_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Main(); }) {}

GpuReader::~GpuReader() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

std::uint64_t GpuReader::Request() {
  MutexLock lock(mutex_);
  changed_.NotifyAll();
  return ++requested_;
}

std::optional<GpuReadings> GpuReader::Take() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(ready_.get(), &count, sizeof(count));
  MutexLock lock(mutex_);
  return std::exchange(readings_, std::nullopt);
}

void GpuReader::Main() {
  std::uint64_t done = 0;
  for (;;) {
    GpuReadings readings;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && requested_ == done) changed_.Wait(mutex_);
      if (stopping_) return;
      readings.request = done = requested_;
    }
    readings.gpus = monitor_.Read();
    {
      MutexLock lock(mutex_);
      readings_ = std::move(readings);
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(ready_.get(), &one, sizeof(one));
  }
}

}  // namespace reveza::daemon
