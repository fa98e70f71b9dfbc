// How `reveza jobs run` shows what happens: on a terminal, in a log, or as lines of JSON.
// Thread-safety: none.
#pragma once

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "runner/engine/observer.h"
#include "runner/job.h"
#include "runner/report/joblog.h"
#include "runner/run_request.h"

namespace reveza::cli {

// Whether the joblog and the outputs can be written where the request wants them; makes both.
// kPermission: a line that says which cannot, and why.
Status MakePlaces(const runner::RunRequest& request);

// What every way of showing does too: the joblog, and outputs in the order of the steps.
class JobsDisplay : public runner::Observer {
 public:
  JobsDisplay(const runner::Job& job, const runner::RunRequest& request,
              std::filesystem::path outputs);
  ~JobsDisplay() override;

  void OnStart(const runner::StepReport& report) override;
  void OnEnd(const runner::StepReport& report, const runner::AttemptResult& result, bool again,
             std::string_view explanation) override;
  void OnCycle(const runner::StepReport& report, const runner::CycleResult& cycle) override;
  void OnProgress(const runner::Progress& progress) override;
  void OnNote(std::string_view line) override;

  // With --keep-order: a step that an earlier run has finished, and printed.
  void Skip(std::uint32_t step);

  // The live lines stay as they are; what follows is printed below.
  void Finish();

 private:
  void Draw(const runner::Progress& progress);
  void Wipe();
  void Line(const std::string& line);
  void PrintInOrder();

  const runner::Job& job_;
  const runner::RunRequest& request_;
  std::filesystem::path outputs_;
  bool live_;
  std::size_t drawn_ = 0;  // lines on the terminal that belong to the display
  std::optional<runner::Progress> last_;
  std::chrono::steady_clock::time_point next_line_{};
  void WriteToJoblog(std::string_view text);

  std::FILE* joblog_ = nullptr;
  bool joblog_failed_ = false;  // and that was said
  struct Ended {
    bool over = false;
    std::string files;  // empty: nothing to print
  };
  std::vector<Ended> ended_;  // with --keep-order, by step
  std::size_t printed_ = 0;
};

}  // namespace reveza::cli
