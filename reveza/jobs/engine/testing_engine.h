// Test fixture: the whole runner in one process, with real supervisors and steps.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/platform/clock.h"
#include "common/platform/testing_directory.h"
#include "common/platform/testing_memory.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/engine/open_job.h"

namespace reveza::jobs {

struct Listener : Observer {
  void OnStart(const StepReport& report) override { started.emplace_back(report.label); }
  void OnEnd(const StepReport& report, const AttemptResult& result, bool will_retry,
             std::string_view explanation) override {
    ended.emplace_back(report.label);
    explanations[std::string(report.label)] = explanation;
    outcomes[std::string(report.label)] = result.outcome;
    repeats += will_retry ? 1 : 0;
    if (on_end) on_end(result);
  }
  void OnCycle(const StepReport&, const CycleResult& cycle) override {
    cycles.push_back(cycle.number);
  }
  void OnProgress(const Progress& progress) override {
    if (on_progress_report) on_progress_report(progress);
    if (on_progress) on_progress();
  }
  void OnNote(std::string_view line) override {
    notes.emplace_back(line);
    if (on_note) on_note(line);
  }

  std::vector<std::string> started, ended, notes;
  std::map<std::string, Outcome> outcomes;
  std::map<std::string, std::string> explanations;  // the last one of each
  std::vector<std::uint64_t> cycles;
  int repeats = 0;
  std::function<void(const AttemptResult&)> on_end;
  std::function<void()> on_progress;
  std::function<void(const Progress&)> on_progress_report;
  std::function<void(std::string_view)> on_note;
};

class SteppedClock : public platform::Clock {
 public:
  std::chrono::nanoseconds Now() const override { return real_.Now() + ahead_.load(); }
  void Move(std::chrono::nanoseconds by) { ahead_ = ahead_.load() + by; }  // from one thread

 private:
  platform::MonotonicClock real_;
  std::atomic<std::chrono::nanoseconds> ahead_{std::chrono::nanoseconds(0)};
};

class EngineTest : public testing::Test {
 protected:
  EngineTest() { setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }

  // Makes steps 1..count of a shell line in which {n} is the number.
  Job Shell(const std::string& line, int count) {
    Job job;
    job.name = "test";
    Command command;
    command.arguments = {line};
    command.shell = true;
    command.folder = folder_.path();
    job.commands.push_back(command);
    for (int n = 1; n <= count; ++n)
      job.steps.emplace_back().parameters = {{"n", std::to_string(n)}};
    return job;
  }

  Engine::Summary Run(Job job, const RunRequest& request = {}) {
    auto expander = Expander::Make(job);
    EXPECT_TRUE(expander) << expander.error().message;
    auto opened = OpenJob(folder_.path(), job, *expander, request, REVEZA_SUPERVISOR);
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) return {};
    notes_ = opened->notes;
    if (hurries_) opened->parts.clock = &clock_;
    if (prepare_) prepare_(opened->parts);
    Engine engine(std::move(opened->parts), listener_);
    auto summary = engine.Run();
    EXPECT_TRUE(summary) << summary.error().message;
    return summary ? *summary : Engine::Summary{};
  }

  // Speeds up the runner's timers five times; steps and supervisors keep real time.
  void Hurry() {
    hurries_ = true;
    listener_.on_progress = [this] { clock_.Move(std::chrono::milliseconds(200)); };
  }

  std::string Text(const std::filesystem::path& name) const {
    std::ifstream file(folder_ / name.string());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  int Lines(const char* name) const {
    const std::string text = Text(name);
    return static_cast<int>(std::ranges::count(text, '\n'));
  }

  platform::TestingDirectory folder_{platform::FolderInMemory()};
  Listener listener_;
  SteppedClock clock_;
  bool hurries_ = false;
  std::function<void(EngineParts&)> prepare_;  // modifies the parts before the engine starts
  std::vector<std::string> notes_;             // of OpenJob, in the last run
};

inline RunRequest Workers(unsigned count) {
  RunRequest request;
  request.workers = count;
  request.cpu_budget = 64;  // independent of other load
  return request;
}

}  // namespace reveza::jobs
