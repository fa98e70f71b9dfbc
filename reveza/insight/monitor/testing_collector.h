// Test fixture: a recorded machine with a manual clock, for a Collector.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/platform/process_table.h"
#include "common/platform/testing_clock.h"
#include "common/platform/testing_directory.h"
#include "reveza/insight/monitor/collector.h"

namespace reveza::monitor {

class CollectorTest : public testing::Test {
 protected:
  void SetUp() override {
    Machine(0, 0);
    root_.Write("proc/loadavg", "1.00 0.50 0.25 1/99 123\n");
    root_.Write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n");
    Process(1, 0, 0);
    sources_.clock = &clock_;
    sources_.root = root_.path();
    sources_.wall_time = [] { return 1790000000.0; };
  }

  void Machine(int busy, int idle) {
    root_.Write("proc/stat",
                fmt::format("cpu {} 0 0 {} 0 0 0 0 0 0\ncpu0 1\ncpu1 1\n", busy, idle));
  }
  // Writes a process with `ticks` of CPU time and 3 threads.
  void Process(pid_t pid, pid_t parent, int ticks, int start = 100, int faults = 7,
               int pages = 10) {
    root_.Write(fmt::format("proc/{}/stat", pid),
                fmt::format("{} (p{}) S {} 1 1 0 -1 0 {} 0 1 0 {} 0 0 0 20 0 3 0 {} 4096 {} 0\n",
                            pid, pid, parent, faults, ticks, start, pages));
  }
  void Memory(pid_t pid, int pss, int peak) {
    root_.Write(fmt::format("proc/{}/smaps_rollup", pid),
                fmt::format("0-f ---p 0 0 0 [rollup]\nRss: 99 kB\nPss: {} kB\n", pss));
    root_.Write(fmt::format("proc/{}/status", pid),
                fmt::format("Name: x\nVmHWM: {} kB\nVmRSS: 40 kB\n", peak));
  }
  void Daemon(nlohmann::json status, pid_t peer = 7) {
    status["pid"] = 7;
    sources_.daemons = [status, peer] {
      return std::vector<Result<DaemonAnswer>>{DaemonAnswer{"/run/a.sock", status, peer}};
    };
  }
  void Runner(const std::string& running, pid_t peer = 8) {
    sources_.jobs = [running, peer] {
      std::vector<JobAnswer> answers;
      answers.push_back({"/jobs/a.sock",
                         fmt::format(R"({{"version":1,"id":"a","pid":8,"running":[{}]}})", running),
                         peer});
      return answers;
    };
  }

  std::uint64_t Ticks() const { return platform::TicksPerSecond(); }
  const Bytes page_ = static_cast<Bytes>(sysconf(_SC_PAGESIZE));

  platform::TestingDirectory root_;
  platform::FakeClock clock_;
  Sources sources_;
};

}  // namespace reveza::monitor
