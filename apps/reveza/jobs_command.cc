#include "jobs_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "daemon/settings.h"
#include "daemon_books.h"
#include "dry_run.h"
#include "exit_status.h"
#include "job_arguments.h"
#include "jobs_change.h"
#include "jobs_demo.h"
#include "jobs_display.h"
#include "jobs_show.h"
#include "platform/runtime_paths.h"
#include "run.h"
#include "runner/engine/engine.h"
#include "runner/engine/open_job.h"

extern char** environ;

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;

ExitStatus StatusOf(const Error& error) {
  switch (error.code) {
    case Error::Code::kInvalidArgument:
      return kUsage;
    case Error::Code::kNotFound:
      return kUsage;
    case Error::Code::kPermission:
      return kOutput;
    case Error::Code::kExhausted:
      return kOutput;
    case Error::Code::kUnavailable:
      return kBusyJob;
    case Error::Code::kIncompatible:
      return kDamagedJournal;
    case Error::Code::kInternal:
      return kFailed;
  }
  return kFailed;
}

// In the build tree beside this program, as installed below lib/.
Result<fs::path> FindSupervisor() {
  const fs::path programs = platform::ProgramFolder();
  for (const auto& place :
       {programs / "reveza-supervisor", programs.parent_path() / "lib/reveza/reveza-supervisor"}) {
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  return Fail(Error::Code::kInternal,
              fmt::format("reveza-supervisor is neither in {} nor in lib/reveza beside it; build "
                          "or install it whole",
                          programs.string()));
}

ExitStatus SayEnd(const runner::Engine::Summary& summary, const ParsedRun& run,
                  const std::string& id) {
  const auto& counts = summary.counts;
  if (!run.request.quiet && !run.request.json && !summary.tuning.empty()) {
    fmt::print(stderr, "\n{}", summary.tuning);
  }
  const auto say = [&](const std::string& line) {
    if (!run.request.json) fmt::print(stderr, "reveza: {}\n", line);
  };
  switch (summary.end) {
    case runner::Engine::End::kDone:
      return kDone;
    case runner::Engine::End::kFailed:
      say(fmt::format(
          "{} of {} steps failed{}; reveza jobs show {} lists them, the same command "
          "with --retry-failed tries them again",
          counts.failed, run.job.steps.size(),
          counts.skipped > 0 ? fmt::format(", {} waited for those", counts.skipped) : "", id));
      return kFailedSteps;
    case runner::Engine::End::kHeld:
      say(
          fmt::format("of {} steps nobody knows whether they finished; the same command with "
                      "--on-unknown retry runs them again",
                      counts.held));
      return kFailedSteps;
    case runner::Engine::End::kInterrupted:
      say(fmt::format("{} of {} steps are left; the same command goes on from here",
                      counts.ready + counts.blocked + counts.running, run.job.steps.size()));
      return kInterrupted;
  }
  return kFailed;
}

// The same command without --detach, in a session of its own, with its words in a file.
int Detach(int argc, char** argv, const runner::JobFolder& folder) {
  const std::string log = folder.path() / "runner.log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::string program = platform::ProgramFolder() / "reveza";
  std::string jobs = "jobs";
  std::vector<char*> arguments = {program.data(), jobs.data()};
  bool ours = true;  // what stands behind "--" or ":::" is the command's
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") ours = false;
    if (!ours || word != "--detach") arguments.push_back(argv[i]);
  }
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    return Say(kNotStarted, fmt::format("cannot go on alone: {}", std::strerror(error)));
  fmt::print("job {} runs on as process {}; reveza jobs follow {} shows it, its words are in {}\n",
             folder.id(), pid, folder.id(), log);
  return kDone;
}

// The daemon that `reveza run` uses. One that cannot be found for a mistake in the settings is for
// that to complain of.
std::function<std::optional<runner::GpuBooks>()> AskDaemon() {
  const auto configuration = daemon::LoadConfiguration(platform::ProcessEnvironment);
  if (!configuration) return {};
  const auto books = std::make_shared<DaemonBooks>(SocketOf(configuration->settings()));
  return [books] { return books->Ask(); };
}

int RunJob(int argc, char** argv) {
  auto run = ParseRun(argc, argv);
  if (!run) return Say(StatusOf(run.error()), run.error().message);
  if (!run->help.empty()) {
    fmt::print("{}", run->help);
    return kDone;
  }
  for (const auto& note : run->notes) fmt::print(stderr, "reveza: {}\n", note);
  if (run->request.dry_run) {
    fmt::print("{}", DryRunText(*run));
    return kDone;
  }
  const auto state = runner::StateHome(platform::ProcessEnvironment);
  if (!state) return Say(StatusOf(state.error()), state.error().message);
  if (const auto made = MakePlaces(run->request); !made) {
    return Say(StatusOf(made.error()), made.error().message);
  }
  const auto supervisor = FindSupervisor();
  if (!supervisor) return Say(kNoLibrary, supervisor.error().message);
  if (run->request.detach) {
    const auto folder = runner::JobFolder::Make(*state, run->job.name);
    if (!folder) return Say(StatusOf(folder.error()), folder.error().message);
    return Detach(argc, argv, *folder);
  }
  // Without a name, what is finished begins anew.
  auto expander = runner::Expander::Make(run->job);
  if (!expander) return Say(kUsage, expander.error().message);
  auto opened =
      runner::OpenJob(*state, run->job, *expander, run->request, *supervisor,
                      run->named ? runner::Finished::kStays : runner::Finished::kBeginsAnew);
  if (!opened) return Say(StatusOf(opened.error()), opened.error().message);
  for (const auto& note : opened->notes) fmt::print(stderr, "reveza: {}\n", note);
  const auto outputs = run->request.output_folder.empty() ? opened->parts.folder.outputs()
                                                          : run->request.output_folder;
  const std::string id = opened->parts.folder.id();
  JobsDisplay display(run->job, run->request, outputs);
  // Without Reveza they wait for each other instead.
  if (platform::ProcessEnvironment("REVEZA_DISABLE") != "1") {
    opened->parts.gpu_prefix = {platform::ProgramFolder() / "reveza", "run", "--quiet", "--"};
    opened->parts.gpu_books = AskDaemon();
  }
  if (run->request.keep_order) {
    const auto list = opened->parts.journal.List();
    if (!list) return Say(StatusOf(list.error()), list.error().message);
    for (std::uint32_t step = 0; step < list->size(); ++step) {
      if ((*list)[step].state == runner::StepState::kDone) display.Skip(step);
    }
  }
  runner::Engine engine(std::move(opened->parts), display);
  const auto summary = engine.Run();
  display.Finish();
  if (!summary) return Say(StatusOf(summary.error()), summary.error().message);
  return SayEnd(*summary, *run, id);
}

struct Subcommand {
  const char* name;
  const char* description;
  int (*run)(int argc, char** argv);
};

constexpr auto kSubcommands = std::to_array<Subcommand>({
    {"run", "work off a list of steps: reveza jobs run [OPTIONS] -- COMMAND ::: NAME VALUES",
     RunJob},
    {"list", "the jobs that there are", ListJobs},
    {"show", "one job: what is done, what failed", ShowJob},
    {"logs", "what a step printed: reveza jobs logs JOB STEP", ShowLogs},
    {"why", "why it is not faster: what waits, and for what", WhyJob},
    {"tune", "how many workers were tried, and what each number gave", TuneJob},
    {"follow", "watch a job that runs", FollowJob},
    {"wait", "until a job that runs has ended", WaitForJob},
    {"pause", "stop what runs, start nothing", PauseJob},
    {"resume", "go on after a pause", ResumeJob},
    {"retry", "another turn for what failed: reveza jobs retry JOB [STEP...]", RetryJob},
    {"add", "further steps: reveza jobs add JOB [OPTIONS] -- COMMAND ::: NAME VALUES", AddToJob},
    {"stop", "no further steps; those that run end by themselves", StopJob},
    {"cancel", "end what runs too", CancelJob},
    {"repair", "make a damaged journal anew from what the supervisors wrote down", RepairJob},
    {"demo", "see a list of steps killed, and go on", JobsDemo},
    {"prune", "remove a job with all that is kept of it", PruneJob},
});

int Help() {
  fmt::print(
      "Lists of steps that are worked off, resumed after a crash, and looked at.\n\n"
      "Usage: reveza jobs COMMAND ...\n\n");
  for (const auto& command : kSubcommands) {
    fmt::print("  {:<8} {}\n", command.name, command.description);
  }
  fmt::print("\nFor example:  reveza jobs run -- ./simulate --seed {{seed}} ::: seed 1..500\n");
  return kDone;
}

}  // namespace

int JobsCommand(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word.empty() || word == "--help" || word == "-h" || word == "help") {
    Help();
    return word.empty() ? kUsage : kDone;
  }
  std::vector<std::string_view> names;
  for (const auto& command : kSubcommands) {
    if (word == command.name) return command.run(argc - 1, argv + 1);
    names.push_back(command.name);
  }
  return Say(kUsage, fmt::format("unknown command '{}'{}; see reveza jobs --help", word,
                                 DidYouMean(word, names)));
}

}  // namespace reveza::cli
