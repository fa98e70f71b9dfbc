#include "doctor_command.h"

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

#include "base/nearest.h"
#include "base/units.h"
#include "doctor/checks.h"
#include "doctor/pages.h"
#include "doctor/report.h"
#include "doctor/trial.h"
#include "exit_status.h"

namespace reveza::cli {
namespace {

struct Options {
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
  return Say(kDoctorUsage, fmt::format("no finding is called '{}'{}; all: {}", id,
                                       DidYouMean(id, names), fmt::join(names, ", ")));
}

// `known`: what was found before.
int Examine(const doctor::Subject& subject, const std::string& called, const Options& options,
            doctor::Findings known = {}) {
  const auto checks = doctor::AllChecks(options.gpu_probe);
  doctor::Report report{called, std::move(known), checks.size()};
  std::ranges::move(doctor::RunAll(checks, subject), std::back_inserter(report.findings));
  report.findings = doctor::Merged(std::move(report.findings));
  if (options.json) {
    fmt::print("{}\n", doctor::ReportJson(report).dump(2, ' ', false,
                                                       nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}", doctor::ReportText(report, options.all));
  }
  return doctor::ExitStatusOf(report.findings);
}

int Try(doctor::Subject subject, const Options& options) {
  const auto limit = ParseDuration(options.duration);
  if (!limit) return Say(kDoctorUsage, fmt::format("--for: {}", limit.error().message));
  auto trial = doctor::RunTrial(options.command,
                                std::chrono::duration_cast<std::chrono::milliseconds>(*limit));
  if (!trial) {
    return Say(trial.error().code == Error::Code::kNotFound ? kNoCommand : kCannotExecute,
               trial.error().message);
  }
  auto end = doctor::JudgeEnd(*trial);
  const std::string called =
      fmt::format("{} ({} {})", options.command[0], trial->ended ? "ended after" : "looked at for",
                  FormatDuration(trial->ran));
  subject.seen = std::move(trial->seen);
  return Examine(subject, called, options, std::move(end));
}

// What stands behind "--" is the command, and not ours to read.
int SplitCommand(int argc, char** argv, std::vector<std::string>& command) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    command.assign(argv + i + 1, argv + argc);
    return i;
  }
  return argc;
}

}  // namespace

int DoctorCommand(int argc, char** argv) {
  CLI::App app("Say why a process, or this machine, cannot run more in parallel", "reveza doctor");
  Options options;
  auto* pid = app.add_option("--pid", options.pid, "look at this process and those below it")
                  ->check(CLI::Range(1, 1 << 22));
  app.add_flag("-v,--verbose", options.all, "also what is fine");
  app.add_flag("--json", options.json, "as JSON, with all findings");
  app.add_flag("--deep", options.deep, "try more: up to 32,768 threads");
  app.add_flag("--gpu-probe", options.gpu_probe,
               "make contexts and start a small kernel on each GPU: what a context takes, and "
               "how often others have it");
  app.add_option("--for", options.duration, "how long the command runs, such as 10s");
  auto* explain = app.add_subcommand("explain", "Show the page of a finding");
  explain->add_option("ID", options.page, "such as address-space")->required();
  app.footer(
      "reveza doctor                     this machine\n"
      "reveza doctor --pid 1234          a process that runs\n"
      "reveza doctor -- python train.py  runs it for 10 s, looks at it, and ends it\n\n"
      "Exit status: 0 fine, 1 warnings, 2 fatal, 64 a mistake in the command line.");
  const int ours = SplitCommand(argc, argv, options.command);
  try {
    app.parse(ours, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return Say(kDoctorUsage, fmt::format("{}; see reveza doctor --help", error.what()));
  }
  if (explain->parsed()) return Explain(options.page);
  doctor::Subject subject;
  subject.deep = options.deep;

  if (ours < argc) {
    if (options.command.empty() || pid->count() > 0) {
      return Say(kDoctorUsage,
                 "behind -- comes a command, and then no --pid is needed; write: "
                 "reveza doctor -- COMMAND [ARGUMENTS...]");
    }
    return Try(std::move(subject), options);
  }
  if (pid->count() == 0) return Examine(subject, "this machine", options);
  if (kill(options.pid, 0) != 0 && errno == ESRCH) {
    return Say(kDoctorUsage, fmt::format("there is no process {}", options.pid));
  }
  subject.pid = options.pid;
  return Examine(subject, fmt::format("process {}", options.pid), options);
}

}  // namespace reveza::cli
