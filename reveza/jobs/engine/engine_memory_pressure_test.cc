// Memory pressure while steps run, on a machine whose files and clock the test controls.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "reveza/jobs/engine/testing_engine.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {
namespace engine_memory_pressure_test {

using namespace std::chrono_literals;

struct Act {
  std::string label;
  bool end = false;  // else paused
  std::chrono::nanoseconds at{0};
};

class MemoryPressureTest : public EngineTest {
 protected:
  MemoryPressureTest() {
    WritePressure(0);
    prepare_ = [this](EngineParts& parts) {
      parts.root = folder_ / "machine";
      parts.clock = &clock_;
    };
    listener_.on_note = [this](std::string_view note) { OnNote(std::string(note)); };
  }

  void WritePressure(int full) const {
    const std::string averages =
        " avg10=" + std::to_string(full) + ".00 avg60=0.00 avg300=0.00 total=0\n";
    folder_.Write("machine/proc/pressure/memory.new", "some" + averages + "full" + averages);
    std::filesystem::rename(folder_ / "machine/proc/pressure/memory.new",
                            folder_ / "machine/proc/pressure/memory");
  }

  // Makes steps that run until the file "go" exists and log each start.
  Job Waiting(int count) {
    Job job = Shell("trap 'exit 0' TERM; echo >> begun-{n}; while [ ! -e go ]; do sleep 0.02; done",
                    count);
    job.commands[0].claim.memory = 64 * kMiB;
    return job;
  }
  bool HaveStarted(std::initializer_list<std::pair<int, int>> times) const {
    for (const auto& [step, count] : times) {
      if (Lines(("begun-" + std::to_string(step)).c_str()) < count) return false;
    }
    return true;
  }

  void OnNote(const std::string& note) {
    const auto begin = note.find("ing step ");
    const auto end = note.find(": all tasks stalled on memory");
    if (begin == std::string::npos || end == std::string::npos) return;
    const std::string label = note.substr(begin + 9, end - begin - 9);
    const bool ends = note.starts_with("terminating");
    // A step that is slow to end is told again.
    if (!acts_.empty() && acts_.back().label == label && acts_.back().end == ends) return;
    acts_.push_back({label, ends, clock_.Now()});
  }
  // Advances the clock by a second, once terminated steps have ended.
  void MoveOn() {
    const auto ends = std::ranges::count(acts_, true, &Act::end);
    if (listener_.repeats >= ends) clock_.Move(1s);
  }
  std::vector<std::pair<std::string, bool>> Actions() const {
    std::vector<std::pair<std::string, bool>> done;
    for (const auto& act : acts_) done.emplace_back(act.label, act.end);
    return done;
  }
  // Returns the learned memory floor of the first command.
  Bytes LearnedFloor() const {
    auto journal = Journal::Open(folder_ / "jobs/test/journal.db");
    const auto learned = journal ? journal->Get("learned") : std::nullopt;
    const auto shapes = nlohmann::json::parse(learned && *learned ? **learned : "[]");
    return shapes.empty() ? 0 : shapes[0].value("memory_floor", Bytes{0});
  }
  static RunRequest Request(unsigned workers) {
    RunRequest request = Workers(workers);
    request.limits = Limits::kNone;
    return request;
  }

  std::vector<Act> acts_;
};

using Done = std::vector<std::pair<std::string, bool>>;

TEST_F(MemoryPressureTest, PausesThenTerminatesYoungestButNeverLast) {
  enum { kBegin, kPressure, kLast, kAgain } stage = kBegin;
  int seconds = 0;
  listener_.on_progress = [&] {
    if (stage == kBegin && HaveStarted({{1, 1}, {2, 1}, {3, 1}})) {
      WritePressure(50);
      stage = kPressure;
    }
    if (stage == kPressure || stage == kLast) MoveOn();
    if (stage == kPressure && listener_.repeats == 2) stage = kLast;
    if (stage == kLast && ++seconds == 60) {
      WritePressure(0);
      stage = kAgain;
    }
    if (stage == kAgain && HaveStarted({{2, 2}, {3, 2}})) std::ofstream(folder_ / "go");
  };
  const auto summary = Run(Waiting(3), Request(3));
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_EQ(Actions(), (Done{{"n=3", false}, {"n=3", true}, {"n=2", false}, {"n=2", true}}));
  for (std::size_t i = 0; i + 1 < acts_.size(); ++i) {
    EXPECT_GE(acts_[i + 1].at - acts_[i].at, 10s) << "before the relief timeout";
  }
  EXPECT_EQ(summary.attempts, 5u) << "the first one kept running";
  EXPECT_EQ(LearnedFloor(), 96 * kMiB) << "1.5 times the claim";
}

TEST_F(MemoryPressureTest, ResumesAfterRelief) {
  bool pressed = false;
  listener_.on_progress = [&] {
    if (!pressed && HaveStarted({{1, 1}, {2, 1}})) {
      pressed = true;
      WritePressure(50);
    }
    if (pressed) MoveOn();
    if (!acts_.empty()) WritePressure(0);
    for (const auto& note : listener_.notes) {
      if (note == "resuming step n=2: memory is available again") std::ofstream(folder_ / "go");
    }
  };
  const auto summary = Run(Waiting(2), Request(2));
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_EQ(Actions(), (Done{{"n=2", false}}));
  EXPECT_EQ(summary.attempts, 2u);
}

// Steps 1 and 2 claim to run under `reveza run`.
TEST_F(MemoryPressureTest, PausedJobTerminatesYoungestWhileGpuStepsRun) {
  Job job = Waiting(3);
  job.commands.push_back(job.commands[0]);
  job.commands[1].arguments[0].insert(0, ": reveza run; ");
  job.steps[0].command = job.steps[1].command = 1;
  enum { kBegin, kAsk, kPressure, kLast, kResume } stage = kBegin;
  std::atomic<bool> begun = false, paused = false, over = false;
  std::thread asker([&] {
    const auto await = [](const std::atomic<bool>& what) {
      while (!what) std::this_thread::sleep_for(5ms);
    };
    await(begun);
    const auto answer = QueryRunner("test", {{"request", "pause"}});
    EXPECT_TRUE(answer && answer->contains("ok"));
    paused = true;
    await(over);
    EXPECT_TRUE(QueryRunner("test", {{"request", "resume"}}));
  });
  int seconds = 0;
  listener_.on_progress = [&] {
    if (stage == kBegin && HaveStarted({{1, 1}, {2, 1}, {3, 1}})) {
      begun = true;
      stage = kAsk;
    }
    if (stage == kAsk && paused) {
      WritePressure(50);
      stage = kPressure;
    }
    if (stage == kPressure || stage == kLast) MoveOn();
    if (stage == kPressure && listener_.repeats == 2) stage = kLast;
    if (stage == kLast && ++seconds == 60) {
      EXPECT_TRUE(HaveStarted({{1, 1}, {2, 1}, {3, 1}}) && !HaveStarted({{2, 2}}) &&
                  !HaveStarted({{3, 2}}))
          << "what was ended waits until the job goes on";
      WritePressure(0);
      over = true;
      stage = kResume;
    }
    if (stage == kResume && HaveStarted({{2, 2}, {3, 2}})) std::ofstream(folder_ / "go");
  };
  const auto summary = Run(job, Request(3));
  begun = over = true;
  asker.join();
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_EQ(Actions(), (Done{{"n=3", true}, {"n=2", true}}));
  EXPECT_EQ(summary.attempts, 5u);
}

// So slow that nothing that happens once a second does, while steps run in real time.
class SlowClock : public platform::Clock {
 public:
  std::chrono::nanoseconds Now() const override { return real_.Now() / 16; }

 private:
  platform::MonotonicClock real_;
};

TEST_F(MemoryPressureTest, MemoryThatABriefStepHasAllocatedIsNotPromisedToIt) {
  const SlowClock slow;
  prepare_ = [&](EngineParts& parts) {
    parts.root = folder_ / "machine";
    parts.clock = &slow;
  };
  const auto write = [&](int available) {
    folder_.Write("machine/proc/meminfo.new",
                  "MemTotal: 1048576 kB\nMemAvailable: " + std::to_string(available) + " kB\n");
    std::filesystem::rename(folder_ / "machine/proc/meminfo.new", folder_ / "machine/proc/meminfo");
  };
  write(120 * 1024);
  // The first fills 60 MiB, and waits for the second, which needs the rest.
  Job job = Shell(
      "test {n} = 2 && exec touch second; "
      "(head -c 60M /dev/zero; touch full; for i in $(seq 300); do test -e second && exit; "
      "sleep 0.01; done; touch alone) | tail -c 60M >/dev/null",
      2);
  job.commands[0].claim.memory = 64 * kMiB;
  std::jthread machine([&](const std::stop_token& stop) {
    while (!stop.stop_requested() && !std::filesystem::exists(folder_ / "full")) {
      std::this_thread::sleep_for(1ms);
    }
    write(70 * 1024);
  });
  RunRequest request = Workers(2);
  request.limits = Limits::kNone;
  request.memory_reserve = 0;
  EXPECT_EQ(Run(job, request).counts.done, 2u);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "second"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "alone")) << "the second waited for the first";
}

}  // namespace engine_memory_pressure_test
}  // namespace reveza::jobs
