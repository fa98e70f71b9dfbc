// For tests: hears what an engine says, and keeps it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runner/engine/observer.h"

namespace reveza::testing {

struct Heard {
  std::string label;
  runner::AttemptResult result;
};

struct TestingListener : runner::Observer {
  void OnStart(const runner::StepReport&) override { ++started; }
  void OnEnd(const runner::StepReport& report, const runner::AttemptResult& result, bool,
             std::string_view) override {
    ended.push_back({std::string(report.label), result});
    if (on_end) on_end();
  }
  void OnCycle(const runner::StepReport&, const runner::CycleResult&) override {
    ++cycles;
    if (on_cycle) on_cycle();
  }
  void OnProgress(const runner::Progress& progress) override {
    if (on_progress) on_progress(progress);
  }
  void OnNote(std::string_view line) override { notes.emplace_back(line); }

  int started = 0;
  int cycles = 0;
  std::vector<Heard> ended;
  std::vector<std::string> notes;
  std::function<void()> on_end, on_cycle;
  std::function<void(const runner::Progress&)> on_progress;
};

}  // namespace reveza::testing
