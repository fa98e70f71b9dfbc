#include "doctor/trial.h"

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

#include "base/unique_fd.h"
#include "base/units.h"
#include "platform/process_table.h"

namespace reveza::doctor {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kKeptOutput = 4096;
constexpr milliseconds kShortestPause(10);
constexpr milliseconds kLongestPause(200);
constexpr milliseconds kGrace(2000);

// A running command, the pipe that it writes to, and what was seen so far.
class Watch {
 public:
  Watch(pid_t pid, UniqueFd output) : pid_(pid), output_(std::move(output)) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { EndAll(); }

  Trial Run(milliseconds limit) {
    const auto begin = Clock::now();
    milliseconds pause = kShortestPause;
    while (!trial_.ended && Clock::now() - begin < limit) {
      const auto look = Clock::now();
      LookAtAll();
      // Looking at a process with many mappings takes long: it gets most of the time.
      const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - look);
      ReadOutput(std::clamp(std::max(pause, took * 10), kShortestPause, kLongestPause));
      Reap();
      if (pause < kLongestPause / 4) pause += milliseconds(1);
    }
    trial_.ran = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    EndAll();
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

  void LookAtAll() {
    for (const pid_t pid : Descendants()) {
      auto view = Look(pid);
      if (!view || !view->maps) continue;  // dead, not yet waited for
      LookAtGroup(pid);
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

  // A command may put itself into a group of its own.
  void LookAtGroup(pid_t pid) {
    const auto place = platform::FindCgroup("memory", pid);
    if (place) {
      const auto kills = platform::OutOfMemoryKillsOf(*place);
      if (kills) groups_.try_emplace((place->mount / place->group).string(), Group{*place, *kills});
      if (auto memory = platform::ReadCgroupMemory(pid)) trial_.death.memory = std::move(memory);
    }
    auto tasks = platform::ReadCgroupTasks(pid);
    const auto left = [](const platform::CgroupTasks& of) {
      return of.limit - std::min(of.limit, of.used);
    };
    auto& tightest = trial_.death.tasks;
    if (tasks && (!tightest || left(*tasks) <= left(*tightest))) tightest = std::move(tasks);
  }

  // False when there was nothing within `wait_ms`, or no more can come.
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
    said_.append(part, static_cast<std::size_t>(got));
    if (said_.size() > 2 * kKeptOutput) said_.erase(0, said_.size() - kKeptOutput);
    return true;
  }

  // What the command says until `pause` is over.
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

  // The limits of a dead process can be read until it has been waited for.
  void Reap() {
    for (;;) {
      siginfo_t info{};
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
      if (const auto limits = platform::ReadProcessLimits(info.si_pid)) {
        ProcessView last;
        last.pid = info.si_pid;
        last.limits = *limits;
        Merge(views_.try_emplace(info.si_pid, last).first->second, last);
      }
      int status = 0;
      if (waitpid(info.si_pid, &status, 0) != info.si_pid || info.si_pid != pid_) continue;
      if (ending_) continue;
      trial_.ended = true;
      if (WIFEXITED(status)) trial_.death.exit_status = WEXITSTATUS(status);
      if (WIFSIGNALED(status)) trial_.death.signal = WTERMSIG(status);
    }
  }

  void EndAll() {
    ending_ = true;
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

  // Of what died the tightest limits and the largest use are what tells.
  void Finish() {
    Death& death = trial_.death;
    for (const auto& [folder, group] : groups_) {
      const auto kills = platform::OutOfMemoryKillsOf(group.place);
      if (!kills) continue;
      death.kills_before = death.kills_before.value_or(0) + group.kills_before;
      death.kills_after = death.kills_after.value_or(0) + *kills;
    }
    death.last_lines = std::move(said_);
    if (death.last_lines.size() > kKeptOutput) {
      death.last_lines.erase(0, death.last_lines.size() - kKeptOutput);
    }
    ProcessView all;
    for (auto& [pid, view] : views_) {
      if (const auto sampler = samplers_.find(pid); sampler != samplers_.end()) {
        view.activity = sampler->second.Result();
      }
      Merge(all, view);
      trial_.seen.push_back(std::move(view));
    }
    death.limits = all.limits;
    death.use = all.use;
    if (all.maps) death.maps = all.maps->count;
  }

  struct Group {
    platform::CgroupPlace place;
    std::uint64_t kills_before = 0;
  };

  pid_t pid_;
  UniqueFd output_;
  std::map<std::string, Group> groups_;  // of memory, by folder
  platform::ProcessReader processes_;
  std::map<pid_t, ProcessView> views_;
  std::map<pid_t, ActivitySampler> samplers_;
  std::string said_;
  bool ending_ = false;
  Trial trial_;
};

// Sends errno when it does not become the command.
[[noreturn]] void Become(const std::vector<std::string>& command, int output, int trouble,
                         pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::vector<std::string> copies = command;
  std::vector<char*> arguments;
  for (std::string& argument : copies) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  if (write(trouble, &error, sizeof(error)) < 0) _exit(2);
  _exit(1);
}

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;
};

Result<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Fail(Error::Code::kExhausted, fmt::format("no pipe: {}", std::strerror(errno)));
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Result<Trial> RunTrial(const std::vector<std::string>& command, milliseconds limit) {
  auto output = MakePipe();
  if (!output) return std::unexpected(output.error());
  auto trouble = MakePipe();
  if (!trouble) return std::unexpected(trouble.error());
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return Fail(Error::Code::kExhausted,
                fmt::format("cannot start '{}': {}", command[0], std::strerror(errno)));
  }
  if (pid == 0) Become(command, output->writer.get(), trouble->writer.get(), parent);
  output->writer = UniqueFd();
  trouble->writer = UniqueFd();
  int error = 0;
  if (read(trouble->reader.get(), &error, sizeof(error)) == sizeof(error)) {
    waitpid(pid, nullptr, 0);
    return Fail(error == ENOENT ? Error::Code::kNotFound : Error::Code::kPermission,
                fmt::format("cannot run '{}': {}", command[0], std::strerror(error)));
  }
  Trial trial = Watch(pid, std::move(output->reader)).Run(limit);
  trial.death.command = fmt::format("{}", fmt::join(command, " "));
  return trial;
}

std::vector<Finding> JudgeEnd(const Trial& trial) {
  if (!trial.ended) return {};
  const Death& death = trial.death;
  if (auto finding = ExplainDeath(death)) return {std::move(*finding)};
  const int status = death.exit_status.value_or(0);
  if (!death.signal && status == 0) return {};
  const std::string how = death.signal ? fmt::format("by signal {}", *death.signal)
                                       : fmt::format("with status {}", status);
  std::string last = death.last_lines;
  constexpr std::size_t kShown = 400;
  if (last.size() > kShown) last = "..." + last.substr(last.size() - kShown);
  return {{.id = Id::kCommandFailed,
           .severity = Severity::kWarning,
           .sure = Sureness::kMeasured,
           .observed =
               fmt::format("{} ended {} after {}{}", death.command, how, FormatDuration(trial.ran),
                           last.empty() ? "" : fmt::format("; it said: {}", last)),
           .limit = "",
           .why = "none of the causes that the doctor knows fits; what was seen may not be all",
           .fix = "run the command by itself, and mend what it says"}};
}

}  // namespace reveza::doctor
