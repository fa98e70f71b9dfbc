#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/json_text.h"
#include "common/base/nearest.h"
#include "common/base/units.h"
#include "common/cli/command_line.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/insight/doctor/checks.h"
#include "reveza/insight/doctor/finding.h"
#include "reveza/insight/doctor/trial.h"

namespace reveza::cli {
namespace {

struct DoctorArguments {
  pid_t pid = 0;
  bool all = false;
  bool json = false;
  bool deep = false;
  bool gpu_probe = false;
  std::string page;
  std::string duration = "10s";
  std::vector<std::string> command;
};

int Explain(const std::string& id) {
  if (const auto page = doctor::FindPage(id)) {
    fmt::print("{}", *page);
    return kDone;
  }
  std::vector<std::string_view> names;
  for (const doctor::Page& page : doctor::AllPages()) names.push_back(page.id);
  return ReportError(kDoctorUsage, "unknown finding '{}'{}; known findings: {}", id,
                     DidYouMean(id, names), fmt::join(names, ", "));
}

// Runs all checks and prints the report. `known` are findings made before. Returns the verdict.
int Examine(const doctor::Subject& subject, const std::string& name, const DoctorArguments& options,
            doctor::Findings known = {}) {
  const auto checks = doctor::AllChecks(options.gpu_probe);
  doctor::Report report{name, std::move(known), checks.size()};
  std::ranges::move(doctor::RunAll(checks, subject), std::back_inserter(report.findings));
  report.findings = doctor::MergeFindings(doctor::DemoteConsequences(std::move(report.findings)));
  if (options.json) {
    fmt::print("{}\n", JsonText(doctor::ReportJson(report), 2));
  } else {
    fmt::print("{}", doctor::ReportText(report, options.all));
  }
  return doctor::ExitStatusOf(report.findings);
}

int ExamineCommand(doctor::Subject subject, const DoctorArguments& options) {
  const auto limit = ParseDuration(options.duration);
  if (!limit) return ReportError(kDoctorUsage, "--for: {}", limit.error().message);
  auto trial = doctor::RunTrial(options.command,
                                std::chrono::duration_cast<std::chrono::milliseconds>(*limit));
  if (!trial) {
    return ReportError(trial.error().code == Error::Code::kNotFound ? kNoCommand : kCannotExecute,
                       trial.error().message);
  }
  auto end = doctor::DiagnoseExit(*trial);
  const std::string name =
      fmt::format("{} ({} {})", options.command[0], trial->ended ? "exited after" : "observed for",
                  FormatDuration(trial->ran));
  subject.seen = std::move(trial->seen);
  return Examine(subject, name, options, std::move(end));
}

// Splits off the words after "--". Returns the number of words before it.
int SplitCommand(int argc, char** argv, std::vector<std::string>& command) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    command.assign(argv + i + 1, argv + argc);
    return i;
  }
  return argc;
}

void DeclareDoctor(CLI::App& app, DoctorArguments& options) {
  app.description(
      "Diagnose what limits the parallelism of a process or of this machine\n\n"
      "Diagnoses what limits the parallelism of a process, a command or this machine: resource\n"
      "limits, control groups, threads, memory and GPUs.");
  AddOption(app, "--pid", options.pid, "PID", "examine this process and its descendants")
      ->check(CLI::Range(1, 1 << 22));
  app.add_flag("-v,--verbose", options.all, "also list checks that passed");
  app.add_flag("--json", options.json, "print JSON, with all findings");
  app.add_flag("--deep", options.deep, "probe up to 32768 threads instead of 1024");
  app.add_flag("--gpu-probe", options.gpu_probe,
               "create contexts and run a small kernel on each GPU, to measure the memory of a\n"
               "context and the time slices of other processes");
  AddOption(app, "--for", options.duration, "TIME",
            "how long to observe the command (default: 10s)");
  command_line::AddCommandWords(app, "a command to run and examine, after --");
  auto* explain = app.add_subcommand("explain", "Explain a finding and how to fix it");
  explain->add_option("FINDING", options.page, "a finding, e.g. address-space")->required();
  explain->footer("Example:\n  reveza doctor explain address-space");
  app.footer(
      "Exit status: 0 no problems, 1 warnings, 2 fatal problems, 64 usage error.\n\n"
      "Examples:\n"
      "  reveza doctor                     examine this machine\n"
      "  reveza doctor --pid 1234          examine a running process\n"
      "  reveza doctor -- python train.py  run the command for 10 s, examine it, terminate it");
}

}  // namespace

void DescribeDoctor(CLI::App& app) {
  DeclareDoctor(app, command_line::ArgumentsOwnedBy<DoctorArguments>(app));
}

CommandResult<int> DoctorCommand(int argc, char** argv) {
  CLI::App app("", "reveza doctor");
  DoctorArguments options;
  DeclareDoctor(app, options);
  const int options_end = SplitCommand(argc, argv, options.command);
  if (const auto status = command_line::Parse(kProgram, app, options_end, argv, {}, kDoctorUsage)) {
    return *status;
  }
  if (app.got_subcommand("explain")) return Explain(options.page);
  doctor::Subject subject;
  subject.deep = options.deep;

  if (options_end < argc) {
    if (options.command.empty() || app.count("--pid") > 0) {
      return ReportError(kDoctorUsage,
                         "a command after -- is required and excludes --pid; usage: reveza doctor "
                         "[OPTIONS] -- COMMAND [ARGUMENTS...]");
    }
    return ExamineCommand(std::move(subject), options);
  }
  if (app.count("--pid") == 0) return Examine(subject, "this machine", options);
  if (kill(options.pid, 0) != 0 && errno == ESRCH) {
    return ReportError(kDoctorUsage, "no such process: {}", options.pid);
  }
  subject.pid = options.pid;
  return Examine(subject, fmt::format("process {}", options.pid), options);
}

}  // namespace reveza::cli
