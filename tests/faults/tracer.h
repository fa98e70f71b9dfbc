// Runs a job under ptrace and kills processes at a chosen system call, either before the kernel
// runs it or after, before the process sees the result. Tests can thus hit every point of the
// protocol between runner, supervisor and step. Not thread-safe; at most one Tracer may run at a
// time.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace reveza::testing {

enum class Role : std::size_t {
  kRunner,
  kSupervisor,  // from its creation on, before it has called exec
  kStep,        // likewise
};
inline constexpr std::size_t kRoles = 3;

struct KillPlan {
  Role at = Role::kRunner;  // role whose stops are counted
  std::size_t nth = 0;      // stop at which to kill, from 1; 0 kills nothing
  // Kills the stopped process for the role `at` (all of them if every role is a victim), and all
  // processes of other roles.
  std::set<Role> victims;
};

// Numbers of created processes, without threads.
struct CreationCounts {
  std::size_t forks = 0;   // fork, which copies the parent's page tables
  std::size_t vforks = 0;  // vfork and posix_spawn
};

struct TraceResult {
  std::array<std::size_t, kRoles> stops{};         // two for each system call
  std::array<CreationCounts, kRoles> creations{};  // by the role of the parent
  bool killed = false;
  int status = 0;  // wait status of the runner
};

class Tracer {
 public:
  // `supervisor` and `step` are absolute paths of the programs.
  Tracer(std::string supervisor, std::string step);

  // Runs `command` until it and all its descendants have exited.
  TraceResult Run(std::vector<std::string> command, const KillPlan& plan);

 private:
  void Handle(pid_t pid, int status);
  void HandleEvent(pid_t pid, int event);
  void CountAndKill(pid_t pid);
  void Kill(pid_t stopped);
  void Resume(pid_t pid, int signal = 0);

  std::string supervisor_;
  std::string step_;
  KillPlan plan_;
  TraceResult traced_;
  std::map<pid_t, Role> roles_;
  std::set<pid_t> unclaimed_;  // stopped before their parent reported them
  std::set<pid_t> announced_;  // reported by their parent before they stopped
};

}  // namespace reveza::testing
