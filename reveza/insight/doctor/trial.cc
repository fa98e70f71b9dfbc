#include "reveza/insight/doctor/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "common/base/exec_arguments.h"
#include "common/base/unique_fd.h"
#include "common/base/units.h"
#include "common/platform/process_table.h"

namespace reveza::doctor {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMaxOutput = 4096;
constexpr milliseconds kMinPause(10);
constexpr milliseconds kMaxPause(200);
constexpr milliseconds kGrace(2000);

// The counters of control groups since they were first seen. A command may move to others.
class GroupWatch {
 public:
  // Adds the groups of a process; 0: of this one.
  void Sample(pid_t pid) {
    Add(kills_, platform::FindCgroup("memory", pid), platform::ReadOutOfMemoryKills);
    Add(refusals_, platform::FindCgroup("pids", pid), platform::ReadTaskRefusals);
    if (auto memory = platform::ReadCgroupMemory(pid)) memory_ = std::move(memory);
    auto tasks = platform::ReadCgroupTasks(pid);
    if (tasks && (!tasks_ || tasks->left() <= tasks_->left())) tasks_ = std::move(tasks);
  }
  void FillIn(Termination& termination) && {
    SumUp(kills_, termination.kills_before, termination.kills_after,
          platform::ReadOutOfMemoryKills);
    SumUp(refusals_, termination.refusals_before, termination.refusals_after,
          platform::ReadTaskRefusals);
    termination.memory = std::move(memory_);
    termination.tasks = std::move(tasks_);
  }

 private:
  using Count = std::optional<std::uint64_t>;
  using Read = Count (*)(const platform::CgroupLocation& place);
  struct Counter {
    platform::CgroupLocation place;
    std::uint64_t before = 0;
  };
  using Counters = std::map<std::string, Counter>;  // by folder

  static void Add(Counters& counters, const std::optional<platform::CgroupLocation>& place,
                  Read read) {
    if (!place || counters.contains(place->folder().string())) return;
    if (const Count now = read(*place)) counters.emplace(place->folder(), Counter{*place, *now});
  }
  static void SumUp(const Counters& counters, Count& before, Count& after, Read read) {
    for (const auto& [folder, counter] : counters) {
      const Count now = read(counter.place);
      if (!now) continue;
      before = before.value_or(0) + counter.before;
      after = after.value_or(0) + *now;
    }
  }

  Counters kills_, refusals_;
  std::optional<platform::CgroupUsage> memory_, tasks_;
};

// A running command, its output pipe, and the samples so far.
class CommandWatch {
 public:
  CommandWatch(pid_t pid, UniqueFd output, GroupWatch groups)
      : pid_(pid), output_(std::move(output)), groups_(std::move(groups)) {}
  CommandWatch(const CommandWatch&) = delete;
  CommandWatch& operator=(const CommandWatch&) = delete;
  ~CommandWatch() { TerminateAll(); }

  Trial Run(milliseconds limit) {
    const auto begin = Clock::now();
    milliseconds pause = kMinPause;
    while (!trial_.ended && Clock::now() - begin < limit) {
      const auto sampled = Clock::now();
      SampleAll();
      // Sampling a process with many mappings is slow; leave most of the time to it.
      const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - sampled);
      ReadOutput(std::clamp(std::max(pause, took * 10), kMinPause, kMaxPause));
      Reap();
      if (pause < kMaxPause / 4) pause += milliseconds(1);
    }
    trial_.ran = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    TerminateAll();
    while (ReadSome(0)) {
    }
    Finish();
    return std::move(trial_);
  }

 private:
  std::vector<pid_t> Descendants() {
    auto all = processes_.Descendants(getpid());
    std::erase(all, getpid());
    return all;
  }

  void SampleAll() {
    for (const pid_t pid : Descendants()) {
      auto view = ReadProcess(pid);
      if (!view || !view->maps) continue;  // zombie
      groups_.Sample(pid);
      if (view->use.threads.value_or(1) > 1) {
        samplers_[pid].Add(platform::ReadThreads(pid, true), Clock::now().time_since_epoch());
      }
      const auto known = views_.find(pid);
      if (known == views_.end()) {
        views_.emplace(pid, std::move(*view));
      } else {
        Merge(known->second, std::move(*view));
      }
    }
  }

  // Returns false on a timeout or end-of-file.
  bool ReadSome(int wait_ms) {
    if (output_.get() < 0) return false;
    pollfd wait{output_.get(), POLLIN, 0};
    if (poll(&wait, 1, wait_ms) <= 0) return false;
    char part[4096];
    const ssize_t got = read(output_.get(), part, sizeof(part));
    if (got <= 0) {
      output_ = UniqueFd();
      return false;
    }
    output_tail_.append(part, static_cast<std::size_t>(got));
    if (output_tail_.size() > 2 * kMaxOutput)
      output_tail_.erase(0, output_tail_.size() - kMaxOutput);
    return true;
  }

  // Reads output for the duration of `pause`.
  void ReadOutput(milliseconds pause) {
    const auto end = Clock::now() + pause;
    for (auto left = pause; left.count() > 0;
         left = std::chrono::ceil<milliseconds>(end - Clock::now())) {
      const int wait_ms = static_cast<int>(left.count());
      if (output_.get() < 0) {
        poll(nullptr, 0, wait_ms);
      } else {
        ReadSome(wait_ms);
      }
    }
  }

  // The limits and the user of a dead process are readable until it is reaped.
  void Reap() {
    for (;;) {
      siginfo_t info{};
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
      if (const auto limits = platform::ReadProcessLimits(info.si_pid)) {
        ProcessView last;
        last.pid = info.si_pid;
        last.limits = *limits;
        last.use.exempt_from_process_limit =
            platform::ReadProcessUse(info.si_pid).exempt_from_process_limit;
        Merge(views_.try_emplace(info.si_pid, last).first->second, last);
      }
      int status = 0;
      if (waitpid(info.si_pid, &status, 0) != info.si_pid || info.si_pid != pid_) continue;
      if (terminating_) continue;
      trial_.ended = true;
      if (WIFEXITED(status)) trial_.termination.exit_status = WEXITSTATUS(status);
      if (WIFSIGNALED(status)) trial_.termination.signal = WTERMSIG(status);
    }
  }

  void TerminateAll() {
    terminating_ = true;
    const auto patience = Clock::now() + kGrace;
    for (bool first = true;; first = false) {
      Reap();
      const auto left = Descendants();
      if (left.empty()) return;
      const bool late = Clock::now() >= patience;
      for (const pid_t pid : left) {
        if (first || late) kill(pid, late ? SIGKILL : SIGTERM);
      }
      poll(nullptr, 0, 10);
    }
  }

  // The tightest limits and the largest usage are the evidence.
  void Finish() {
    Termination& termination = trial_.termination;
    std::move(groups_).FillIn(termination);
    termination.last_lines = std::move(output_tail_);
    if (termination.last_lines.size() > kMaxOutput) {
      termination.last_lines.erase(0, termination.last_lines.size() - kMaxOutput);
    }
    ProcessView all;
    for (auto& [pid, view] : views_) {
      if (const auto sampler = samplers_.find(pid); sampler != samplers_.end()) {
        view.activity = sampler->second.Result();
      }
      Merge(all, view);
      trial_.seen.push_back(std::move(view));
    }
    termination.limits = all.limits;
    termination.use = all.use;
    if (all.maps) termination.maps = all.maps->count;
  }

  pid_t pid_;
  UniqueFd output_;
  GroupWatch groups_;
  platform::ProcessReader processes_;
  std::map<pid_t, ProcessView> views_;
  std::map<pid_t, ActivitySampler> samplers_;
  std::string output_tail_;
  bool terminating_ = false;
  Trial trial_;
};

// Executes the command; writes errno to `error_pipe` on failure.
[[noreturn]] void ExecCommand(const std::vector<std::string>& command, int output, int error_pipe,
                              pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execvp(command[0].c_str(), ExecArguments(command).data());
  const int error = errno;
  if (write(error_pipe, &error, sizeof(error)) < 0) _exit(2);
  _exit(1);
}

}  // namespace

Result<Trial> RunTrial(const std::vector<std::string>& command, milliseconds limit) {
  auto output = MakePipe();
  auto errors = MakePipe();
  if (!output || !errors) {
    return Fail(Error::Code::kExhausted, "cannot create a pipe: {}", std::strerror(errno));
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Before the start: a command may die of a limit at once.
  GroupWatch groups;
  groups.Sample(0);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return Fail(Error::Code::kExhausted, "cannot start '{}': {}", command[0], std::strerror(errno));
  }
  if (pid == 0) ExecCommand(command, output->writer.get(), errors->writer.get(), parent);
  output->writer.Reset();
  errors->writer.Reset();
  int error = 0;
  if (read(errors->reader.get(), &error, sizeof(error)) == sizeof(error)) {
    waitpid(pid, nullptr, 0);
    return Fail(error == ENOENT ? Error::Code::kNotFound : Error::Code::kPermission,
                "cannot run '{}': {}", command[0], std::strerror(error));
  }
  Trial trial = CommandWatch(pid, std::move(output->reader), std::move(groups)).Run(limit);
  trial.termination.command = fmt::format("{}", fmt::join(command, " "));
  return trial;
}

std::vector<Finding> DiagnoseExit(const Trial& trial) {
  if (!trial.ended) return {};
  const Termination& termination = trial.termination;
  if (auto finding = ExplainTermination(termination)) return {std::move(*finding)};
  const int status = termination.exit_status.value_or(0);
  if (!termination.signal && status == 0) return {};
  const std::string how = termination.signal ? fmt::format("by signal {}", *termination.signal)
                                             : fmt::format("with status {}", status);
  std::string last = termination.last_lines;
  constexpr std::size_t kShown = 400;
  if (last.size() > kShown) last = "..." + last.substr(last.size() - kShown);
  return {{.id = Id::kCommandFailed,
           .severity = Severity::kWarning,
           .confidence = Confidence::kMeasured,
           .observed = fmt::format("{} exited {} after {}{}", termination.command, how,
                                   FormatDuration(trial.ran),
                                   last.empty() ? "" : fmt::format("; its last output: {}", last)),
           .why = "no known cause matches",
           .fix = "run the command by itself and fix what it reports"}};
}

}  // namespace reveza::doctor
