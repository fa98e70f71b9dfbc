#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/exec_arguments.h"
#include "common/base/unique_fd.h"
#include "common/base/units.h"
#include "common/platform/runtime_paths.h"
#include "common/platform/unix_socket.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/commands.h"
#include "reveza/cli/reveza/jobs/dry_run.h"
#include "reveza/cli/reveza/jobs/job_arguments.h"
#include "reveza/cli/reveza/jobs/jobs_display.h"
#include "reveza/cli/reveza/jobs/run_parts.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/jobs/cluster/arrays.h"
#include "reveza/jobs/cluster/cluster_run.h"
#include "reveza/jobs/cluster/kubernetes.h"
#include "reveza/jobs/cluster/ray.h"
#include "reveza/jobs/cluster/slurm.h"
#include "reveza/jobs/engine/control.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/engine/job_preview.h"
#include "reveza/jobs/engine/open_job.h"
#include "reveza/jobs/report/progress_text.h"

extern char** environ;

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;

// Reports how the run ended and returns the exit status.
ExitStatus ReportSummary(const jobs::Engine::Summary& summary, const ParsedRun& run,
                         const std::string& id) {
  const auto& counts = summary.counts;
  if (!run.request.quiet && !run.request.json && !summary.tuning.empty()) {
    fmt::print(stderr, "\n{}", summary.tuning);
  }
  const auto report = [&](const std::string& line) {
    if (!run.request.json) fmt::print(stderr, "reveza: {}\n", line);
  };
  switch (summary.end) {
    case jobs::Engine::RunEnd::kDone:
      return kDone;
    case jobs::Engine::RunEnd::kFailed:
      report(fmt::format(
          "{} of {} steps failed{}; `reveza jobs show {}` lists them, the same command with "
          "--retry-failed retries them",
          counts.failed, run.job.steps.size(),
          counts.skipped > 0 ? fmt::format(", {} dependent steps skipped", counts.skipped) : "",
          id));
      return kFailedSteps;
    case jobs::Engine::RunEnd::kHeld:
      report(
          fmt::format("{} steps are in an unknown state (their end was not recorded); the same "
                      "command with --on-unknown retry runs them again",
                      counts.held));
      return kFailedSteps;
    case jobs::Engine::RunEnd::kHalted:
      report(fmt::format(
          "{} of {} steps failed, and --halt ended the job: {} remain; the same command runs "
          "these, "
          "with --retry-failed also the failed ones",
          counts.failed, run.job.steps.size(), counts.ready + counts.blocked + counts.running));
      return kFailedSteps;
    case jobs::Engine::RunEnd::kGoalMet:
      report(fmt::format("the goal of --halt was met; {} of {} are not done",
                         counts.ready + counts.blocked + counts.running,
                         Plural(run.job.steps.size(), "step")));
      return kDone;
    case jobs::Engine::RunEnd::kInterrupted:
      report(fmt::format("{} of {} steps remain; the same command resumes the job",
                         counts.ready + counts.blocked + counts.running, run.job.steps.size()));
      return kInterrupted;
  }
  return kFailed;
}

// Returns an unnamed file in the folder, to be read from its beginning.
Result<UniqueFd> MakeInput(const fs::path& folder, std::string_view text) {
  const std::string path = folder / "standard-input";
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  unlink(path.c_str());
  while (file && !text.empty()) {
    const ssize_t written = write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) file.Reset();
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
  if (!file || lseek(file.get(), 0, SEEK_SET) != 0) {
    return Fail(Error::Code::kExhausted, "--stdin: cannot keep standard input in {}: {}",
                folder.string(), std::strerror(errno));
  }
  return file;
}

// Waits until the detached runner answers, so that other commands find it, or has ended. Returns
// its exit status in that case.
std::optional<int> AwaitStart(pid_t pid, const std::string& job) {
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (ended < 0) return std::nullopt;  // SIGCHLD is ignored: the kernel forgets how it ended
    if (platform::ConnectTo(jobs::ControlSocket(job), SOCK_STREAM)) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Starts the same command without --detach in a new session, with its output in a log file.
// `options_end`: words from there on belong to the command. `input`: its standard input.
int Detach(std::span<char* const> words_given, int options_end, const UniqueFd& input,
           const jobs::JobFolder& folder) {
  const std::string log = folder.path() / "runner.log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::vector<std::string> words = {platform::ProgramFolder() / "reveza", "jobs"};
  for (const std::string_view word : words_given.first(options_end)) {
    if (word != "--detach" && !word.starts_with("--detach=")) words.emplace_back(word);
  }
  words.insert(words.end(), words_given.begin() + options_end, words_given.end());
  pid_t pid = 0;
  const int error = posix_spawn(&pid, words[0].c_str(), &actions, &attributes,
                                ExecArguments(words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return ReportError(kNotStarted, "cannot start a detached runner: {}", std::strerror(error));
  }
  const auto ended = AwaitStart(pid, folder.id());
  const int status = ended.value_or(kDone);
  if (status != kDone && status != kFailedSteps) {
    return ReportError(static_cast<ExitStatus>(status),
                       "the detached runner of job {} has ended with status {}; its log is {}",
                       folder.id(), status, log);
  }
  fmt::print(
      "job {0} runs detached as process {1}; `reveza jobs follow {0}` shows its progress, its log "
      "is {2}\n",
      folder.id(), pid, log);
  return kDone;
}

Result<std::unique_ptr<jobs::ClusterEngine>> FindClusterEngine(const jobs::RunRequest& request) {
  switch (request.cluster) {
    case jobs::ClusterKind::kRay:
      return jobs::Ray::Find();
    case jobs::ClusterKind::kKubernetes:
      return jobs::Kubernetes::Find(request.pods, request.shared_folder);
    default:
      return jobs::Slurm::Find();
  }
}

Result<jobs::Engine::Summary> RunOnCluster(jobs::EngineParts parts, jobs::Observer& observer) {
  const jobs::RunRequest& request = parts.request;
  ASSIGN_OR_RETURN(auto engine, FindClusterEngine(request));
  jobs::ClusterSettings settings{.engine = std::move(engine),
                                 .folder = request.shared_folder / parts.folder.id(),
                                 .reveza = platform::ProgramFolder() / "reveza"};
  if (const auto bound = request.workers ? request.workers : request.max_workers) {
    settings.max_open = *bound;
  }
  return jobs::ClusterRun(std::move(parts), std::move(settings), observer).Run();
}

Result<int> RunOpened(jobs::OpenedJob opened, const ParsedRun& run) {
  const bool here = run.request.cluster == jobs::ClusterKind::kNone;
  if (here) RETURN_IF_ERROR(jobs::CheckNoArrays(opened.parts.journal));
  for (const auto& note : opened.notes) {
    fmt::print(stderr, "reveza: {}\n", jobs::EscapeControls(note));
  }
  const auto outputs =
      run.request.output_folder.empty() ? opened.parts.folder.outputs() : run.request.output_folder;
  const std::string id = opened.parts.folder.id();
  JobsDisplay display(run.job, run.request, outputs);
  ShareGpus(opened.parts);
  if (run.request.output == jobs::Output::kKeepOrder) {
    ASSIGN_OR_RETURN(const auto list, opened.parts.journal.List());
    for (std::uint32_t step = 0; step < list.size(); ++step) {
      if (list[step].state == jobs::StepState::kDone) display.Skip(step);
    }
  }
  const auto summary = here ? jobs::Engine(std::move(opened.parts), display).Run()
                            : RunOnCluster(std::move(opened.parts), display);
  display.Finish();
  if (!summary) return std::unexpected(summary.error());
  return ReportSummary(*summary, run, id);
}

// Describes the run, or fails as it would.
Result<int> PrintDryRun(const ParsedRun& run) {
  DryRunView view = LocalDryRunView();
  const auto expander = jobs::Expander::Make(run.job);
  if (!expander) return ReportError(kUsage, expander.error().message);
  if (const auto state = platform::StateHome(platform::ProcessEnvironment)) {
    ASSIGN_OR_RETURN(view.preview, jobs::PreviewJob(*state, run.job, *expander, run.request));
  }
  fmt::print("{}", DryRunText(run, view));
  return kDone;
}

Result<int> RunOrDetach(int argc, char** argv) {
  Surroundings here = ThisMachine();
  std::string input;  // for a runner that is detached
  here.standard_input = [&input, read = here.standard_input]() -> Result<std::string> {
    ASSIGN_OR_RETURN(input, read());
    return input;
  };
  ASSIGN_OR_RETURN(auto run, ParseRun(argc, argv, here));
  if (!run.help.empty()) {
    fmt::print("{}", run.help);
    return kDone;
  }
  for (const auto& note : run.notes) fmt::print(stderr, "reveza: {}\n", note);
  if (run.request.dry_run) return PrintDryRun(run);
  ASSIGN_OR_RETURN(const auto state, platform::StateHome(platform::ProcessEnvironment));
  RETURN_IF_ERROR(CreateOutputs(run.request));
  const auto supervisor = FindSupervisor();
  if (!supervisor) return ReportError(kNoLibrary, supervisor.error().message);
  auto expander = jobs::Expander::Make(run.job);
  if (!expander) return ReportError(kUsage, expander.error().message);
  if (run.request.detach) {
    // What is wrong is said here rather than in the log.
    RETURN_IF_ERROR(jobs::CheckNewJob(state, run.job, *expander));
    ASSIGN_OR_RETURN(const auto note, jobs::ExplainChanges(state, run.job, *expander, run.request));
    if (note) fmt::print(stderr, "reveza: {}\n", jobs::EscapeControls(*note));
    ASSIGN_OR_RETURN(const auto folder, jobs::JobFolder::Create(state, run.job.name));
    RETURN_IF_ERROR(folder.Lock());  // and lets the runner have it
    ASSIGN_OR_RETURN(const auto file, MakeInput(folder.path(), input));
    return Detach({argv, static_cast<std::size_t>(argc)}, run.options_end, file, folder);
  }
  ASSIGN_OR_RETURN(auto opened, jobs::OpenJob(state, run.job, *expander, run.request, *supervisor));
  return RunOpened(std::move(opened), run);
}

}  // namespace

Result<int> RunJob(int argc, char** argv) {
  auto status = RunOrDetach(argc, argv);
  if (status || (status.error().code != Error::Code::kPermission &&
                 status.error().code != Error::Code::kExhausted)) {
    return status;
  }
  return ReportError(kOutput, status.error().message);
}

}  // namespace reveza::cli
