// NVIDIA's Multi-Process Service (MPS), docs/mps.md: one control daemon per user, started when a
// job asks for it, ended when no job has used it for a while. Only control daemons with a pipe
// directory beside the daemon's socket are ever ended.
//
// Nothing here waits: fd() is readable when Tick() has something to do, NextDeadline() says when
// else. Not thread-safe; runs in the daemon's loop.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/log.h"
#include "common/base/unique_fd.h"
#include "common/platform/clock.h"
#include "reveza/gpu/daemon/mps_command.h"
#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza::daemon {

using scheduler::JobId;
using scheduler::Time;

class MpsControls {
 public:
  struct Options {
    std::filesystem::path folder;          // of the pipe directories
    Time linger{0};                        // how long a control daemon without jobs is kept
    Time limit = std::chrono::seconds(5);  // for an answer of nvidia-cuda-mps-control
    // Returns whether a client of the job is connected.
    std::function<bool(JobId)> has_clients;
  };
  struct Asker {
    pid_t pid = 0;  // becomes the job's first process; 0: unknown
    MpsUser user;
    JobId job = 0;
    double weight = 1;
  };
  // Receives {"folder": ..., "percentage": number or null} or {"error": ...}.
  using Answer = std::function<void(const nlohmann::json&)>;

  // Takes over the control daemons that an earlier daemon has left.
  MpsControls(Options options, const platform::Clock& clock, Logger logger);

  // Lets a job use MPS; answers now or later, once.
  void Request(const Asker& asker, Answer answer);
  bool Uses(JobId job) const;
  bool InUse() const;
  nlohmann::json Json() const;

  int fd() const { return epoll_.get(); }
  void Tick();
  std::optional<Time> NextDeadline() const;
  // Ends the control daemons that no job uses; waits for that.
  void Shutdown();

 private:
  // A job, from the request until its first process has ended and no client of it is connected.
  struct Use {
    JobId job = 0;
    pid_t pid = 0;
    double weight = 1;
    UniqueFd process;
  };
  struct Waiting {
    Asker asker;
    Answer answer;
  };
  // kFailed: it died or did not answer, and jobs that used it have not ended.
  enum class State { kStopped, kStarting, kRunning, kChecking, kStopping, kFailed };
  struct Control {
    MpsUser user;
    State state = State::kStopped;
    std::string why;  // of kFailed
    std::optional<MpsDaemon> daemon;
    std::optional<MpsCommand> command;
    Time deadline{0};  // of the command, or of the end of the daemon
    std::deque<Waiting> waiting;
    std::vector<Use> uses;
    Time unused_since{0};
  };

  std::filesystem::path FolderOf(uid_t uid) const;
  std::filesystem::path JobsFileOf(uid_t uid) const;
  void TakeOver();
  void Adopt(Control& control);
  void AddUse(Control& control, JobId job, pid_t pid, double weight);
  void RemoveEndedUses(Control& control);
  void WriteJobs(const Control& control) const;
  void Advance(Control& control);
  void Command(Control& control, State state, const std::string& input);
  void OnCommandEnd(Control& control);
  void OnCommandLate(Control& control);
  void Started(Control& control, const std::optional<std::string>& failure);
  void OnDaemonEnd(Control& control);
  void Fail(Control& control, const std::string& why);
  void Kill(Control& control);
  void Grant(Control& control);
  void Refuse(Control& control, const std::string& why);
  void Watch(int fd);

  const Options options_;
  const platform::Clock& clock_;
  const Logger logger_;
  UniqueFd epoll_;
  std::map<uid_t, Control> controls_;
};

// Returns the share of a GPU's threads for a job, among those that use MPS when it starts and at
// least one other of weight 1; nullopt for all threads.
std::optional<int> ThreadPercentage(double weight, double others);

}  // namespace reveza::daemon
