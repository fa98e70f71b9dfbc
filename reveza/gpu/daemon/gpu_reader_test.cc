#include "reveza/gpu/daemon/gpu_reader.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <semaphore>

namespace reveza::daemon {
namespace gpu_reader_test {

// Each reading waits until the test lets it end, and has the number of readings so far as memory.
class SlowMonitor : public nvml::GpuMonitor {
 public:
  std::optional<std::vector<nvml::GpuReading>> Read() override {
    begun.release();
    end.acquire();
    nvml::GpuReading reading;
    reading.used = ++count_;
    return std::vector{reading};
  }
  std::counting_semaphore<> begun{0};
  std::counting_semaphore<> end{0};

 private:
  Bytes count_ = 0;
};

bool IsReady(const GpuReader& reader, int timeout_ms) {
  pollfd descriptor{reader.fd(), POLLIN, 0};
  return poll(&descriptor, 1, timeout_ms) == 1;
}

GpuReadings Await(GpuReader& reader) {
  EXPECT_TRUE(IsReady(reader, 60'000));
  return reader.Take().value_or(GpuReadings{});
}

TEST(GpuReader, AReadingAnswersOnlyRequestsBeforeIt) {
  SlowMonitor monitor;
  GpuReader reader(monitor);
  const std::uint64_t first = reader.Request();
  monitor.begun.acquire();
  const std::uint64_t second = reader.Request();
  const std::uint64_t third = reader.Request();
  EXPECT_FALSE(IsReady(reader, 0));
  EXPECT_FALSE(reader.Take());
  monitor.end.release();
  EXPECT_EQ(Await(reader).request, first);
  EXPECT_LT(first, second);
  monitor.end.release();
  const GpuReadings last = Await(reader);
  EXPECT_EQ(last.request, third);
  EXPECT_EQ(last.gpus->front().used, 2u) << "one reading for both";
  EXPECT_FALSE(IsReady(reader, 0));
}

TEST(GpuReader, ReadsOnRequestOnly) {
  SlowMonitor monitor;
  {
    GpuReader reader(monitor);
    EXPECT_FALSE(IsReady(reader, 10));
    reader.Request();
    monitor.begun.acquire();
    monitor.end.release();
    Await(reader);
  }
  EXPECT_FALSE(monitor.begun.try_acquire());
}

}  // namespace gpu_reader_test
}  // namespace reveza::daemon
