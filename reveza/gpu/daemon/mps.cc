#include "reveza/gpu/daemon/mps.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <utility>

#include "common/base/parse_number.h"
#include "common/platform/process.h"
#include "common/platform/process_table.h"

namespace reveza::daemon {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kFolderPrefix = "mps-";
constexpr Time kRetry = std::chrono::milliseconds(20);

// Of a process, by its pidfd.
bool HasEnded(int process) {
  pollfd ended{process, POLLIN, 0};
  return poll(&ended, 1, 0) == 1;
}

std::uint64_t StartOf(pid_t pid) {
  const auto stat = platform::ProcessReader().Stat(pid);
  return stat ? stat->start_ticks : 0;
}

}  // namespace

std::optional<int> ThreadPercentage(double weight, double others) {
  if (weight == 1) return std::nullopt;
  const double percent = 100 * weight / (weight + std::max(others, 1.0));
  return std::clamp(static_cast<int>(std::lround(percent)), 1, 100);
}

MpsControls::MpsControls(Options options, const platform::Clock& clock, Logger logger)
    : options_(std::move(options)),
      clock_(clock),
      logger_(std::move(logger)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  TakeOver();
}

fs::path MpsControls::FolderOf(uid_t uid) const {
  return options_.folder / fmt::format("{}{}", kFolderPrefix, uid);
}

// Not in the pipe directory, which belongs to the user.
fs::path MpsControls::JobsFileOf(uid_t uid) const {
  return options_.folder / fmt::format("{}{}.jobs", kFolderPrefix, uid);
}

// Descriptors leave the set when they are closed. Each is reported once: until its exec(), a child
// that was just forked keeps them open.
void MpsControls::Watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

// ---- an earlier daemon's ----

void MpsControls::TakeOver() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options_.folder, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kFolderPrefix)) continue;
    const auto uid = ParseNumber<uid_t>(std::string_view(name).substr(kFolderPrefix.size()));
    if (!uid || (*uid != geteuid() && geteuid() != 0)) continue;
    Control control;
    control.user.uid = *uid;
    Adopt(control);
    if (control.state != State::kRunning) continue;
    logger_->info("found the MPS control daemon of user {} (pid {})", *uid, control.daemon->pid);
    controls_.emplace(*uid, std::move(control));
  }
}

// Takes over the user's control daemon if one runs.
void MpsControls::Adopt(Control& control) {
  auto found = FindMpsDaemon(FolderOf(control.user.uid), control.user.uid);
  if (!found) return;
  Watch(found->process.get());
  control.daemon = std::move(*found);
  control.state = State::kRunning;
  control.unused_since = clock_.Now();
  std::ifstream file(JobsFileOf(control.user.uid));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    JobId job = 0;
    pid_t pid = 0;
    std::uint64_t start = 0;
    double weight = 1;
    words >> job >> pid >> start >> weight;
    // A pid may have been given to another process.
    if (words && start != 0 && StartOf(pid) == start) AddUse(control, job, pid, weight);
  }
}

// ---- jobs ----

void MpsControls::AddUse(Control& control, JobId job, pid_t pid, double weight) {
  Use use{.job = job, .pid = pid, .weight = weight, .process = {}};
  if (auto process = platform::OpenProcess(pid)) {
    use.process = std::move(*process);
    Watch(use.process.get());
  }
  control.uses.push_back(std::move(use));
}

void MpsControls::RemoveEndedUses(Control& control) {
  for (Use& use : control.uses) {
    if (use.process && HasEnded(use.process.get())) use.process.Reset();
  }
  const auto ended = std::erase_if(control.uses, [this](const Use& use) {
    return !use.process && !options_.has_clients(use.job);
  });
  if (ended == 0) return;
  control.unused_since = clock_.Now();
  WriteJobs(control);
}

// For the next daemon, should this one be killed.
void MpsControls::WriteJobs(const Control& control) const {
  const fs::path file = JobsFileOf(control.user.uid);
  const fs::path written = file.string() + ".new";
  {
    std::ofstream out(written);
    for (const Use& use : control.uses) {
      out << fmt::format("{} {} {} {}\n", use.job, use.pid, StartOf(use.pid), use.weight);
    }
  }
  std::error_code error;
  fs::rename(written, file, error);
  if (error) logger_->warn("cannot write {}: {}", file.string(), error.message());
}

bool MpsControls::Uses(JobId job) const {
  return std::ranges::any_of(controls_, [job](const auto& entry) {
    return std::ranges::find(entry.second.uses, job, &Use::job) != entry.second.uses.end();
  });
}

bool MpsControls::InUse() const {
  return std::ranges::any_of(controls_, [](const auto& entry) {
    return !entry.second.uses.empty() || !entry.second.waiting.empty();
  });
}

json MpsControls::Json() const {
  static constexpr const char* kStates[] = {"stopped", "starting", "running",
                                            "running", "stopping", "failed"};
  json users = json::array();
  for (const auto& [uid, control] : controls_) {
    json jobs = json::array();
    for (const Use& use : control.uses) jobs.push_back(fmt::format("{:016x}", use.job));
    users.push_back({{"uid", uid},
                     {"state", kStates[static_cast<std::size_t>(control.state)]},
                     {"why", control.why},
                     {"pid", control.daemon ? json(control.daemon->pid) : json(nullptr)},
                     {"folder", FolderOf(uid).string()},
                     {"jobs", std::move(jobs)}});
  }
  return users;
}

// ---- requests ----

void MpsControls::Request(const Asker& asker, Answer answer) {
  const auto refuse = [&](const std::string& why) { answer({{"error", why}}); };
  if (asker.pid == 0) return refuse("MPS does not work from another PID namespace");
  if (asker.user.uid != geteuid() && geteuid() != 0) {
    return refuse(fmt::format("this daemon runs as user {} and cannot start MPS for user {}",
                              geteuid(), asker.user.uid));
  }
  Control& control = controls_[asker.user.uid];
  control.user = asker.user;
  control.waiting.push_back({asker, std::move(answer)});
  RemoveEndedUses(control);
  Advance(control);
}

void MpsControls::Grant(Control& control) {
  for (Waiting& one : std::exchange(control.waiting, {})) {
    double others = 0;
    for (const Use& use : control.uses) others += use.job == one.asker.job ? 0 : use.weight;
    const auto percentage = ThreadPercentage(one.asker.weight, others);
    AddUse(control, one.asker.job, one.asker.pid, one.asker.weight);
    one.answer({{"folder", FolderOf(control.user.uid).string()},
                {"percentage", percentage ? json(*percentage) : json(nullptr)}});
  }
  WriteJobs(control);
}

void MpsControls::Refuse(Control& control, const std::string& why) {
  for (Waiting& one : std::exchange(control.waiting, {})) one.answer({{"error", why}});
}

// ---- the control daemon ----

void MpsControls::Command(Control& control, State state, const std::string& input) {
  const auto program = FindMpsControl();
  auto command = program
                     ? MpsCommand::Start(*program, control.user, FolderOf(control.user.uid), input)
                     : Result<MpsCommand>(std::unexpected(program.error()));
  if (!command) {
    if (state == State::kChecking) return Fail(control, command.error().message);
    if (state == State::kStarting) Refuse(control, command.error().message);
    if (state == State::kStopping) Kill(control);
    return;
  }
  Watch(command->fd());
  control.command = std::move(*command);
  control.state = state;
  control.deadline = clock_.Now() + options_.limit;
}

// Does what is next, if nothing is under way.
void MpsControls::Advance(Control& control) {
  if (control.state == State::kFailed && control.uses.empty()) {
    Kill(control);
    if (!control.daemon) control.state = State::kStopped;
  }
  switch (control.state) {
    case State::kStopped: {
      if (control.waiting.empty()) return;
      Adopt(control);  // of a daemon that was killed just now
      if (control.state == State::kRunning) return Advance(control);
      if (auto made = PrepareMpsFolder(FolderOf(control.user.uid), control.user); !made) {
        return Refuse(control, made.error().message);
      }
      return Command(control, State::kStarting, "");
    }
    case State::kRunning:
      if (!control.waiting.empty()) return Command(control, State::kChecking, "get_server_list\n");
      if (control.uses.empty() && clock_.Now() - control.unused_since >= options_.linger) {
        logger_->info("ending MPS of user {}", control.user.uid);
        Command(control, State::kStopping, "quit\n");
      }
      return;
    case State::kFailed:
      return Refuse(control, control.why);
    case State::kStarting:
    case State::kChecking:
    case State::kStopping:
      return;
  }
}

void MpsControls::OnCommandEnd(Control& control) {
  const auto failure = control.command->Finish();
  control.command.reset();
  switch (control.state) {
    case State::kStarting:
      return Started(control, failure);
    case State::kChecking:
      if (failure) return Fail(control, *failure);
      control.state = State::kRunning;
      return Grant(control);
    case State::kStopping:
      // Its end is awaited until the deadline.
      if (failure) Kill(control);
      return;
    case State::kStopped:
    case State::kRunning:
    case State::kFailed:
      return;
  }
}

void MpsControls::Started(Control& control, const std::optional<std::string>& failure) {
  control.state = State::kStopped;
  Adopt(control);
  if (control.state == State::kRunning) {
    logger_->info("started MPS for user {} (pid {})", control.user.uid, control.daemon->pid);
    return Grant(control);
  }
  // Its pid file may come a moment after the command has ended.
  if (!failure && clock_.Now() < control.deadline) {
    control.state = State::kStarting;
    return;
  }
  Refuse(control, failure.value_or("the MPS control daemon ended at once; its log is in " +
                                   (FolderOf(control.user.uid) / "log").string()));
}

void MpsControls::OnCommandLate(Control& control) {
  control.command.reset();  // kills it
  const std::string why = fmt::format("the MPS control daemon does not answer within {} s",
                                      options_.limit / std::chrono::seconds(1));
  switch (control.state) {
    case State::kStarting:
      control.state = State::kStopped;
      Adopt(control);
      if (control.state == State::kRunning) Kill(control);
      return Refuse(control, why);
    case State::kStopping:
      return Kill(control);
    default:
      return Fail(control, why);
  }
}

void MpsControls::OnDaemonEnd(Control& control) {
  const bool expected = control.state == State::kStopping;
  control.daemon.reset();
  control.command.reset();
  if (expected || (control.uses.empty() && control.waiting.empty())) {
    control.state = State::kStopped;
    control.why.clear();
    std::error_code ignored;
    fs::remove(JobsFileOf(control.user.uid), ignored);
    return;
  }
  if (control.state == State::kFailed) return;
  Fail(control, "the MPS control daemon has ended; jobs that used it must end first");
}

void MpsControls::Fail(Control& control, const std::string& why) {
  logger_->warn("MPS of user {}: {}", control.user.uid, why);
  control.command.reset();
  control.state = State::kFailed;
  control.why = why;
  Refuse(control, why);
}

// Ends a control daemon that does not end by itself.
void MpsControls::Kill(Control& control) {
  if (!control.daemon) return;
  syscall(SYS_pidfd_send_signal, control.daemon->process.get(), SIGKILL, nullptr, 0);
  control.state = State::kStopping;
  control.deadline = clock_.Now() + options_.limit;
}

void MpsControls::Tick() {
  epoll_event seen[16];
  while (epoll_wait(epoll_.get(), seen, std::size(seen), 0) > 0) {
  }
  for (auto& [uid, control] : controls_) {
    RemoveEndedUses(control);
    if (control.command && HasEnded(control.command->fd())) OnCommandEnd(control);
    if (control.state == State::kStarting && !control.command) Started(control, std::nullopt);
    if (control.daemon && HasEnded(control.daemon->process.get())) OnDaemonEnd(control);
    const bool late = clock_.Now() >= control.deadline;
    if (control.command && late) {
      OnCommandLate(control);
    } else if (control.state == State::kStopping && late) {
      Kill(control);
    }
    Advance(control);
  }
  std::erase_if(controls_, [](const auto& entry) {
    return entry.second.state == State::kStopped && entry.second.waiting.empty();
  });
}

std::optional<Time> MpsControls::NextDeadline() const {
  std::optional<Time> next;
  const auto consider = [&next](Time time) { next = next ? std::min(*next, time) : time; };
  for (const auto& [uid, control] : controls_) {
    if (control.command || control.state == State::kStopping) consider(control.deadline);
    if (control.state == State::kStarting && !control.command) consider(clock_.Now() + kRetry);
    if (control.state == State::kRunning && control.uses.empty()) {
      consider(control.unused_since + options_.linger);
    }
  }
  return next;
}

void MpsControls::Shutdown() {
  const auto under_way = [](const auto& entry) {
    return entry.second.state == State::kStopping || entry.second.command.has_value();
  };
  Tick();
  for (auto& [uid, control] : controls_) {
    Refuse(control, "the daemon is ending");
    if (control.state == State::kRunning && control.uses.empty()) {
      Command(control, State::kStopping, "quit\n");
    }
  }
  const Time until = clock_.Now() + 2 * options_.limit;
  while (std::ranges::any_of(controls_, under_way) && clock_.Now() < until) {
    pollfd changed{epoll_.get(), POLLIN, 0};
    poll(&changed, 1, 100);
    Tick();
  }
}

}  // namespace reveza::daemon
