#include "reveza/insight/monitor/collector.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/platform/testing_directory.h"
#include "reveza/gpu/nvml/testing_fakes.h"
#include "reveza/insight/monitor/testing_collector.h"

namespace reveza::monitor {
namespace collector_test {

using nlohmann::json;
using platform::TestingDirectory;
using std::chrono::seconds;

TEST_F(CollectorTest, WorksWithoutGpuAndDaemon) {
  Collector collector(sources_);
  const auto snapshot = collector.Collect();
  EXPECT_EQ(snapshot.time, 1790000000.0);
  EXPECT_EQ(snapshot.machine.cores, 2u);
  EXPECT_EQ(snapshot.machine.cpu, std::nullopt) << "needs two samples";
  EXPECT_EQ(snapshot.machine.memory->available, 600 * kKiB);
  EXPECT_EQ(snapshot.machine.pressure, platform::Pressures{});
  EXPECT_EQ(snapshot.machine.processes, 1u);
  EXPECT_FALSE(snapshot.daemon);
  EXPECT_TRUE(snapshot.gpus.empty());
  EXPECT_TRUE(snapshot.jobs.empty());
  EXPECT_TRUE(snapshot.notes.empty());
}

TEST_F(CollectorTest, ValuesAreEmptyWithoutProc) {
  TestingDirectory empty;
  sources_.root = empty.path();
  Collector collector(sources_);
  const auto snapshot = collector.Collect();
  EXPECT_EQ(snapshot.machine.cores, std::nullopt);
  EXPECT_EQ(snapshot.machine.processes, std::nullopt);
  EXPECT_FALSE(snapshot.machine.memory);
}

TEST_F(CollectorTest, ComputesCpuBetweenSnapshots) {
  Daemon({{"clients", {{{"pid", 50}, {"name", "ana"}}}}});
  Process(50, 1, 1000);
  Collector collector(sources_);
  EXPECT_EQ(collector.Collect().clients[0].use.cpu, std::nullopt);
  clock_.Advance(seconds(2));
  Machine(300, 100);
  Process(50, 1, 1000 + static_cast<int>(Ticks()) * 3);
  const auto snapshot = collector.Collect();
  EXPECT_DOUBLE_EQ(snapshot.machine.cpu.value_or(-1), 0.75);
  EXPECT_DOUBLE_EQ(snapshot.clients[0].use.cpu.value_or(-1), 1.5);
  EXPECT_EQ(snapshot.clients[0].use.threads, 3u);
  EXPECT_EQ(snapshot.clients[0].use.resident, 10 * page_);
}

TEST_F(CollectorTest, DetectsReusedPids) {
  Daemon({{"clients", {{{"pid", 50}, {"name", "ana"}}}}});
  Process(50, 1, 1'000'000, 100);
  Collector collector(sources_);
  collector.Collect();
  clock_.Advance(seconds(1));
  Process(50, 1, static_cast<int>(Ticks()) / 2, 900);
  EXPECT_DOUBLE_EQ(collector.Collect().clients[0].use.cpu.value_or(-1), 0.5);
}

TEST_F(CollectorTest, SumsTheProcessTreeOfAStep) {
  Runner(R"({"step":1,"label":"x","pid":60})");
  Process(60, 1, 0);
  Process(61, 60, 0);
  Process(62, 61, 0);
  Process(63, 1, 0);
  for (const pid_t pid : {60, 61, 62}) Memory(pid, 20, 30);
  Collector collector(sources_);
  collector.Collect();
  clock_.Advance(seconds(1));
  Process(61, 60, static_cast<int>(Ticks()));
  Process(62, 61, static_cast<int>(Ticks()));
  Process(63, 1, static_cast<int>(Ticks()));
  const auto snapshot = collector.Collect();
  const Usage& use = snapshot.jobs[0].running[0].use;
  EXPECT_EQ(use.processes, 3u);
  EXPECT_EQ(use.threads, 9u);
  EXPECT_DOUBLE_EQ(use.cpu.value_or(-1), 2.0);
  EXPECT_EQ(use.resident, 30 * page_);
  EXPECT_EQ(use.proportional, 60 * kKiB);
  EXPECT_EQ(use.peak, 60 * kKiB) << "highest sample of the sum";
  EXPECT_EQ(snapshot.jobs[0].use.cpu, use.cpu);
}

TEST_F(CollectorTest, JobUsageIsEmptyIfAStepIsUnknown) {
  Runner(R"({"step":1,"pid":60},{"step":2,"pid":99})");
  Process(60, 1, 0);
  Collector collector(sources_);
  const auto snapshot = collector.Collect();
  EXPECT_EQ(snapshot.jobs[0].running[1].use, Usage{}) << "it has exited";
  EXPECT_EQ(snapshot.jobs[0].use.resident, std::nullopt);
}

TEST_F(CollectorTest, AttributesClientsToSteps) {
  Runner(R"({"step":4,"pid":60})");
  Daemon({{"clients", {{{"pid", 61}, {"name", "ana"}}, {{"pid", 70}, {"name", "bia"}}}}});
  Process(60, 1, 0);
  Process(61, 60, 0);
  Process(70, 1, 0);
  Collector collector(sources_);
  const auto snapshot = collector.Collect();
  EXPECT_EQ(snapshot.clients[0].step, "a/4");
  EXPECT_EQ(snapshot.clients[1].step, "");
}

TEST_F(CollectorTest, OmitsUsageFromOtherPidNamespaces) {
  Process(50, 1, 0);
  Process(60, 1, 0);
  Daemon({{"clients", {{{"pid", 50}, {"name", "ana"}}}}}, 0);
  Runner(R"({"step":1,"pid":60,"memory":5})", 0);
  Collector collector(sources_);
  const auto snapshot = collector.Collect();
  EXPECT_EQ(snapshot.clients[0].use, Usage{});
  EXPECT_EQ(snapshot.jobs[0].running[0].use, Usage{});
  EXPECT_EQ(snapshot.jobs[0].running[0].memory, 5u);
  EXPECT_EQ(snapshot.notes.size(), 2u);
}

// Cost per snapshot: one file per monitored process, kept open. Every ten seconds, spread evenly:
// one file per other process, and two more per monitored process whose memory changes.
class CostTest : public CollectorTest {
 protected:
  static constexpr int kOthers = 40;
  static constexpr int kOwn = 20;
  static constexpr pid_t kFirstOwn = 1000 + kOthers;

  void SetUp() override {
    CollectorTest::SetUp();
    std::string running;
    for (pid_t pid = 1000; pid < kFirstOwn + kOwn; ++pid) {
      Process(pid, 1, 0);
      Memory(pid, 20, 30);
      if (pid < kFirstOwn) continue;
      running += fmt::format(R"({}{{"step":{},"pid":{}}})", running.empty() ? "" : ",", pid, pid);
    }
    Runner(running);
  }
};

TEST_F(CostTest, ReadsMonitoredProcessesAndATenthOfTheRest) {
  Collector collector(sources_);
  auto snapshot = collector.Collect();
  constexpr std::uint64_t all = kOthers + kOwn + 1;
  EXPECT_EQ(snapshot.process_files_read, all + 2 * kOwn) << "the first snapshot reads all";
  EXPECT_EQ(snapshot.machine.processes, all);
  std::uint64_t read = 0;
  std::uint64_t opened = 0;
  for (int second = 1; second <= 10; ++second) {
    clock_.Advance(seconds(1));
    // All monitored processes keep growing.
    for (pid_t pid = kFirstOwn; pid < kFirstOwn + kOwn; ++pid) Process(pid, 1, 0, 100, second);
    snapshot = collector.Collect();
    EXPECT_EQ(snapshot.machine.processes, all) << second;
    EXPECT_GE(snapshot.process_files_read, kOwn) << second;
    EXPECT_LE(snapshot.process_files_read, kOwn + kOthers / 10 + 2 * kOwn / 10 + 3) << second;
    read += snapshot.process_files_read;
    // The first refresh opens the files that are kept open.
    if (second > 1) {
      EXPECT_LE(snapshot.process_files_opened, kOthers / 10 + 2 * kOwn / 10 + 3u) << second;
    }
    opened += snapshot.process_files_opened;
  }
  EXPECT_LE(read, 10 * kOwn + kOthers + 2 * kOwn + 10u);
  EXPECT_LE(opened, kOwn + kOthers + 2 * kOwn + 10u) << "files are kept open";
  for (const Step& step : snapshot.jobs[0].running) {
    EXPECT_EQ(step.use.proportional, 20 * kKiB);
    EXPECT_EQ(step.use.peak, 30 * kKiB);
  }
}

// Without page faults the memory of a process cannot have grown.
TEST_F(CostTest, SamplesUnchangedProcessesOncePerMinute) {
  Collector collector(sources_);
  collector.Collect();
  clock_.Advance(seconds(1));
  collector.Collect();
  for (int second = 2; second < 60; ++second) {
    clock_.Advance(seconds(1));
    const auto snapshot = collector.Collect();
    EXPECT_LE(snapshot.process_files_read, kOwn + kOthers / 10 + 1u) << second;
    EXPECT_LE(snapshot.process_files_opened, kOthers / 10 + 1u) << second;
  }
  for (pid_t pid = kFirstOwn; pid < kFirstOwn + kOwn; ++pid) Memory(pid, 70, 90);
  Snapshot snapshot;
  for (int second = 60; second <= 70; ++second) {
    clock_.Advance(seconds(1));
    snapshot = collector.Collect();
    EXPECT_LE(snapshot.process_files_opened, kOthers / 10 + 2 * kOwn / 10 + 3u) << second;
  }
  for (const Step& step : snapshot.jobs[0].running) {
    EXPECT_EQ(step.use.proportional, 70 * kKiB) << "fewer processes may share its pages";
  }
}

TEST_F(CostTest, ReopensFilesBeyondTheLimit) {
  sources_.max_open_files = 10;
  Collector collector(sources_);
  collector.Collect();
  for (int look = 0; look < 3; ++look) {
    clock_.Advance(std::chrono::milliseconds(1));
    const auto snapshot = collector.Collect();
    EXPECT_EQ(snapshot.process_files_read, kOwn);
    EXPECT_EQ(snapshot.process_files_opened, look == 0 ? kOwn : kOwn - 10u) << look;
    EXPECT_EQ(snapshot.jobs[0].running.back().use.threads, 3u);
  }
}

// Samples are at most ten seconds old, whether memory grows or shrinks.
TEST_F(CostTest, ResamplesChangedProcessesWithinTenSeconds) {
  Collector collector(sources_);
  collector.Collect();
  for (pid_t pid = kFirstOwn; pid < kFirstOwn + kOwn; ++pid) {
    Process(pid, 1, 0, 100, pid % 2 == 0 ? 8 : 7, pid % 2 == 0 ? 10 : 9);
    Memory(pid, 70, 90);
  }
  std::size_t updated = 0;
  for (int second = 1; second <= 10; ++second) {
    clock_.Advance(seconds(1));
    const auto snapshot = collector.Collect();
    const std::size_t before = std::exchange(updated, 0);
    for (const Step& step : snapshot.jobs[0].running) {
      if (step.use.proportional == 70 * kKiB) ++updated;
    }
    EXPECT_LE(updated - before, static_cast<std::size_t>(kOwn / 10 + 1))
        << "evenly spread: " << second;
  }
  EXPECT_EQ(updated, static_cast<std::size_t>(kOwn));
}

TEST_F(CollectorTest, NewProcessReportsResidentMemoryFirst) {
  Runner(R"({"step":1,"pid":60})");
  Collector collector(sources_);
  collector.Collect();
  Process(60, 1, 0);
  Memory(60, 20, 30);
  clock_.Advance(seconds(1));
  auto use = collector.Collect().jobs[0].running[0].use;
  EXPECT_EQ(use.proportional, std::nullopt);
  EXPECT_EQ(use.Memory(), 10 * page_);
  clock_.Advance(seconds(9));
  use = collector.Collect().jobs[0].running[0].use;
  EXPECT_EQ(use.Memory(), 20 * kKiB);
}

TEST_F(CollectorTest, ComputesTransferRates) {
  const auto daemon = [&](int out, int in, int count) {
    Daemon({{"gpus",
             {{{"uuid", "GPU-1"},
               {"handover", {{"count", count}, {"bytes_out", out}, {"bytes_in", in}}}}}},
            {"clients", {{{"pid", 50}, {"job", "x"}, {"copied_out", out}, {"copied_in", in}}}}});
  };
  // The collector copies its sources, so forward to the current one.
  Sources sources = sources_;
  sources.daemons = [&] { return sources_.daemons(); };
  daemon(1000, 500, 3);
  Collector collector(sources);
  EXPECT_EQ(collector.Collect().gpus[0].swap_out, std::nullopt);
  clock_.Advance(seconds(2));
  daemon(5000, 700, 4);
  auto snapshot = collector.Collect();
  EXPECT_EQ(snapshot.gpus[0].swap_out, 2000.0);
  EXPECT_EQ(snapshot.gpus[0].swap_in, 100.0);
  EXPECT_EQ(snapshot.gpus[0].handovers->rate, 0.5);
  EXPECT_EQ(snapshot.clients[0].swap_out, 2000.0);
  clock_.Advance(seconds(2));
  daemon(10, 10, 1);
  snapshot = collector.Collect();
  EXPECT_EQ(snapshot.gpus[0].swap_out, std::nullopt) << "the counter was reset";
}

TEST_F(CollectorTest, MergesGpusOfDriverAndDaemon) {
  nvml::FakeGpuMonitor monitor;
  nvml::FakeGpuActivity activity;
  nvml::GpuReading reading;
  reading.uuid = {1};
  reading.name = "Test GPU";
  reading.total = 100;
  reading.used = 30;
  reading.processes = std::vector<nvml::GpuProcess>{{70, Bytes{20}}, {71, std::nullopt}};
  monitor.readings = {reading};
  nvml::GpuActivityReading busy;
  busy.uuid = reading.uuid;
  busy.some_resident = 1.0;
  activity.readings = {busy};
  sources_.gpus = &monitor;
  sources_.activity = &activity;
  Process(70, 1, 0);
  root_.Write("proc/70/cmdline", std::string("/bin/train\0--fast\0", 18));
  Collector alone(sources_);
  auto snapshot = alone.Collect();
  ASSERT_EQ(snapshot.gpus.size(), 1u);
  EXPECT_EQ(snapshot.gpus[0].index, 0u);
  EXPECT_EQ(snapshot.gpus[0].used, 30u);
  EXPECT_EQ(snapshot.gpus[0].some_resident, 1.0);
  EXPECT_EQ(snapshot.gpus[0].sm_active, std::nullopt) << "distinct metrics";
  ASSERT_EQ(snapshot.outside.size(), 2u);
  EXPECT_EQ(snapshot.outside[0].command, "/bin/train --fast");
  EXPECT_EQ(snapshot.outside[1].used, std::nullopt);

  Daemon({{"gpus", {{{"index", 0}, {"uuid", nvml::FormatUuid(reading.uuid)}, {"budget", 90}}}}});
  Collector both(sources_);
  snapshot = both.Collect();
  ASSERT_EQ(snapshot.gpus.size(), 1u) << "merged by UUID";
  EXPECT_EQ(snapshot.gpus[0].budget, 90u);
  EXPECT_EQ(snapshot.gpus[0].name, "Test GPU");
  EXPECT_TRUE(snapshot.outside.empty()) << "reported by the daemon instead";
}

TEST_F(CollectorTest, NotesErrorsButNotMissingSources) {
  const auto fail_with = [&](Error::Code code, const char* message) {
    sources_.daemons = [=] { return std::vector<Result<DaemonAnswer>>{Fail(code, "{}", message)}; };
  };
  fail_with(Error::Code::kNotFound, "no daemon");
  sources_.jobs = [] {
    std::vector<JobAnswer> answers;
    answers.push_back({"/jobs/a.sock", Fail(Error::Code::kNotFound, "dead"), 0});
    answers.push_back({"/jobs/b.sock", std::string("nonsense"), 0});
    return answers;
  };
  Collector collector(sources_);
  auto snapshot = collector.Collect();
  EXPECT_TRUE(snapshot.jobs.empty());
  ASSERT_EQ(snapshot.notes.size(), 1u);
  EXPECT_NE(snapshot.notes[0].find("/jobs/b.sock"), std::string::npos);
  fail_with(Error::Code::kUnavailable, "no permission");
  sources_.jobs = nullptr;
  Collector other(sources_);
  EXPECT_EQ(other.Collect().notes, std::vector<std::string>{"no permission"});
}

}  // namespace collector_test
}  // namespace reveza::monitor
