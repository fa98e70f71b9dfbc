// Test observer that records all events.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reveza/jobs/engine/engine.h"

namespace reveza::testing {

struct EndedAttempt {
  std::string label;
  jobs::AttemptResult result;
};

struct TestingListener : jobs::Observer {
  void OnStart(const jobs::StepReport&) override { ++started; }
  void OnEnd(const jobs::StepReport& report, const jobs::AttemptResult& result, bool,
             std::string_view) override {
    ended.push_back({std::string(report.label), result});
    if (on_end) on_end();
  }
  void OnCycle(const jobs::StepReport&, const jobs::CycleResult&) override {
    ++cycles;
    if (on_cycle) on_cycle();
  }
  void OnProgress(const jobs::Progress& progress) override {
    if (on_progress) on_progress(progress);
  }
  void OnNote(std::string_view line) override { notes.emplace_back(line); }

  int started = 0;
  int cycles = 0;
  std::vector<EndedAttempt> ended;
  std::vector<std::string> notes;
  std::function<void()> on_end, on_cycle;
  std::function<void(const jobs::Progress&)> on_progress;
};

}  // namespace reveza::testing
