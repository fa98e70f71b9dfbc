// Commands of `reveza jobs` that print what a step or the runner says, or wait for it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include "common/base/units.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/commands.h"
#include "reveza/cli/reveza/jobs/job_summary.h"
#include "reveza/jobs/engine/control.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/journal/verify_outputs.h"
#include "reveza/jobs/report/progress_text.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using jobs::StepState;
using nlohmann::json;

constexpr auto kFollowInterval = std::chrono::milliseconds(100);

// A step as the runner and the journal know it.
struct StepProgress {
  bool runs = false;           // the job has a runner
  std::uint32_t running = 0;   // attempt; 0: none
  std::uint32_t attempts = 0;  // including the running one
  bool is_over = false;        // the step is done or has failed for good
};

Result<StepProgress> QueryStep(const std::string& job, jobs::JournalReader& journal,
                               const jobs::NumberedStep& step) {
  StepProgress progress;
  const auto status = jobs::QueryRunner(job, {{"request", "status"}});
  progress.runs = status || status.error().code != Error::Code::kUnavailable;
  if (status && status->contains("running")) {
    for (const auto& one : (*status)["running"]) {
      if (one.value("step", std::size_t{0}) != step.number) continue;
      progress.running = one.value("attempt", std::uint32_t{0});
    }
  }
  // After the runner, so that an attempt that has ended meanwhile is not missed.
  ASSIGN_OR_RETURN(const auto entry, journal.FindStep(step.entry.identity));
  if (!entry) return progress;
  progress.attempts = std::max(entry->attempts, progress.running);
  progress.is_over = progress.running == 0 &&
                     (entry->state == StepState::kDone || entry->state == StepState::kFailed);
  return progress;
}

// Prints both outputs of an attempt as they grow.
class StepOutput {
 public:
  explicit StepOutput(fs::path files) : files_(std::move(files)) {}

  // Prints what was written since the last call. Returns whether it could be printed.
  bool PrintNew() {
    for (auto& [suffix, file, stream] : streams_) {
      // The open file is the attempt's, even when a next attempt gives it another name.
      if (!file.is_open()) file.open(files_.string() + suffix, std::ios::binary);
      file.clear();
      char part[65536];
      while (file.read(part, sizeof(part)) || file.gcount() > 0) {
        std::fwrite(part, 1, static_cast<std::size_t>(file.gcount()), stream);
      }
    }
    return std::fflush(stdout) == 0;
  }

 private:
  struct Stream {
    const char* suffix;
    std::ifstream file;
    std::FILE* stream;
  };
  fs::path files_;
  Stream streams_[2] = {{".out", {}, stdout}, {".err", {}, stderr}};
};

// Finds a step by number or label. kInvalidArgument if the job has none.
Result<jobs::NumberedStep> FindListedStep(jobs::JournalReader& journal, const std::string& step,
                                          const std::string& job) {
  ASSIGN_OR_RETURN(auto found, journal.FindStep(step));
  if (found) return *std::move(found);
  std::uint64_t all = 0;
  ASSIGN_OR_RETURN(const auto states, journal.CountStates());
  for (const auto& [state, count] : states) all += count;
  return NoSuchStep(step, job, all);
}

std::uint64_t CountOf(const json& job, const char* state) {
  return job["steps"][state].get<std::uint64_t>();
}

}  // namespace

void PrintStatus(const json& status) {
  const json eta = status.value("eta", json());
  fmt::print("{}: {} of {} done{}, {} running, {} waiting, {} failed; {} workers{}\n",
             status["id"].get<std::string>(), CountOf(status, "done"), CountOf(status, "all"),
             CyclesText(status), CountOf(status, "running"), CountOf(status, "waiting"),
             CountOf(status, "failed"),
             status["workers"]["best"].is_null() ? 0 : status["workers"]["best"].get<unsigned>(),
             eta.is_object() ? "; " + jobs::RemainingText(jobs::RemainingFromJson(eta)) : "");
}

Result<int> ShowLogs(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  ASSIGN_OR_RETURN(auto journal, jobs::JournalReader::Open(folder.journal()));
  ASSIGN_OR_RETURN(const auto step, FindListedStep(journal, arguments.step, folder.id()));
  ASSIGN_OR_RETURN(auto now, QueryStep(folder.id(), journal, step));
  if (arguments.attempt > now.attempts) {
    return InvalidArgument("step {} of job {} has {}; give one of 1 to {}", step.number,
                           folder.id(), Plural(now.attempts, "attempt"), now.attempts);
  }
  const fs::path files = OutputFolder(folder, journal) / step.entry.files;
  auto attempt = arguments.attempt > 0 ? arguments.attempt : std::max(now.attempts, 1U);
  for (bool shown = false;;) {
    if (attempt <= now.attempts) {
      StepOutput output(jobs::OutputsOfAttempt(files, attempt, attempt == now.attempts));
      while (arguments.follow && now.running == attempt) {
        if (!output.PrintNew()) return kOutput;
        std::this_thread::sleep_for(kFollowInterval);
        ASSIGN_OR_RETURN(now, QueryStep(folder.id(), journal, step));
      }
      if (!output.PrintNew()) return kOutput;
      if (!arguments.follow || arguments.attempt > 0) return kDone;
      shown = true;
      ++attempt;
    } else if (!arguments.follow || !now.runs || now.is_over) {
      if (shown) return kDone;
      // Of an attempt that nobody has recorded yet.
      std::error_code error;
      const bool has_output =
          fs::exists(files.string() + ".out", error) || fs::exists(files.string() + ".err", error);
      if (has_output) return StepOutput(files).PrintNew() ? kDone : kOutput;
      return InvalidArgument("step {} of job {} has not run yet", step.number, folder.id());
    } else {
      // The next attempt, or process of a chain.
      std::this_thread::sleep_for(kFollowInterval);
    }
    ASSIGN_OR_RETURN(now, QueryStep(folder.id(), journal, step));
  }
}

Result<int> TuneJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  std::string text;
  if (const auto answer = jobs::QueryRunner(folder.id(), {{"request", "tune"}})) {
    text = answer->value("text", "");
  } else {
    ASSIGN_OR_RETURN(auto journal, jobs::JournalReader::Open(folder.journal()));
    ASSIGN_OR_RETURN(const auto kept, journal.Get(jobs::kTuning));
    text = kept.value_or("");
  }
  if (text.empty()) {
    text = "no measurements: the number of workers was given, or the job was too short\n";
  }
  fmt::print("{}", text);
  return kDone;
}

Result<int> FollowJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  bool seen = false;
  for (;;) {
    const auto status = jobs::QueryRunner(folder.id(), {{"request", "status"}});
    const bool ended = !status && status.error().code == Error::Code::kUnavailable;
    if (!status && (!seen || !ended)) return std::unexpected(status.error());
    if (!status) {
      fmt::print("the runner has ended\n");
      return kDone;
    }
    seen = true;
    PrintStatus(*status);
    if (std::fflush(stdout) != 0) return kOutput;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

Result<int> WaitForJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  for (;;) {
    const auto locked = folder.IsLocked();
    // File descriptors may run out temporarily.
    if (!locked && locked.error().code != Error::Code::kExhausted) {
      return std::unexpected(locked.error());
    }
    if (!locked.value_or(true)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ASSIGN_OR_RETURN(auto journal, jobs::JournalReader::Open(folder.journal()));
  ASSIGN_OR_RETURN(const auto job, SummarizeJob(folder, journal));
  return job.Count(StepState::kDone) == job.AllSteps() ? kDone : kFailedSteps;
}

}  // namespace reveza::cli
