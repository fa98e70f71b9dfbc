// The output of `reveza jobs run`: a live display, log lines, or JSON. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/cli/reveza/jobs/step_outputs.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/definition/run_request.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/report/progress_text.h"

namespace reveza::cli {

// Creates the joblog and the output folder that the request names. kPermission if one cannot be
// written.
Status CreateOutputs(const jobs::RunRequest& request);

// Shows events in the way the request asks for; writes the joblog, and prints what steps write.
class JobsDisplay : public jobs::Observer {
 public:
  JobsDisplay(const jobs::Job& job, const jobs::RunRequest& request, std::filesystem::path outputs);
  ~JobsDisplay() override;

  void OnStart(const jobs::StepReport& report) override;
  void OnEnd(const jobs::StepReport& report, const jobs::AttemptResult& result, bool retried,
             std::string_view explanation) override;
  void OnCycle(const jobs::StepReport& report, const jobs::CycleResult& cycle) override;
  void OnProgress(const jobs::Progress& progress) override;
  void OnNote(std::string_view line) override;

  // With --output keep-order: marks a step as printed by an earlier run.
  void Skip(std::uint32_t step);

  // Leaves the live lines on the screen and prints the final progress.
  void Finish();

 private:
  void Draw(const jobs::Progress& progress);
  void Erase();
  void PrintLine(const std::string& line);
  void WriteToJoblog(std::string_view text);

  const jobs::Job& job_;
  const jobs::RunRequest& request_;
  std::filesystem::path outputs_;
  bool live_;
  std::size_t drawn_ = 0;  // lines of the live display on the terminal
  std::optional<jobs::Progress> last_;
  std::chrono::steady_clock::time_point next_line_{};

  std::FILE* joblog_ = nullptr;
  bool joblog_error_logged_ = false;
  std::unique_ptr<StepOutputs> step_outputs_;  // null: not printed
};

}  // namespace reveza::cli
