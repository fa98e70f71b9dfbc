// Runs a job under ptrace and kills at a system call that was chosen beforehand: before it is made,
// or after it was made and before its caller knows. So every point of the protocol between runner,
// supervisor and step can be hit, one after the other. Thread-safety: none; one at a time.
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
  kSupervisor,  // from its birth, before it has become that program
  kStep,        // likewise
};
inline constexpr std::size_t kRoles = 3;

struct KillPlan {
  Role at = Role::kRunner;  // whose stops are counted
  std::size_t nth = 0;      // 1: the first stop, 0: nobody is killed
  std::set<Role> victims;   // of its own role: the one that was stopped; of others: all
};

// Of processes, by how they were made; threads are none.
struct Births {
  std::size_t copied = 0;  // fork: all that the parent has mapped is copied
  std::size_t lent = 0;    // vfork, and what the C library makes posix_spawn of
};

struct Traced {
  std::array<std::size_t, kRoles> stops{};  // two for each system call
  std::array<Births, kRoles> births{};      // by the role of the parent
  bool killed = false;
  int status = 0;  // of the runner, as waitpid says it
};

class Tracer {
 public:
  // `programs`: of supervisor and step, absolute.
  Tracer(std::string supervisor, std::string step);

  // Until the program and all that descends from it have ended.
  Traced Run(std::vector<std::string> words, const KillPlan& plan);

 private:
  void Handle(pid_t pid, int status);
  void HandleEvent(pid_t pid, int event);
  void CountAndKill(pid_t pid);
  void Kill(pid_t stopped);
  void GoOn(pid_t pid, int signal = 0);

  std::string supervisor_;
  std::string step_;
  KillPlan plan_;
  Traced traced_;
  std::map<pid_t, Role> roles_;
  std::set<pid_t> unborn_;   // seen before its parent has said of it
  std::set<pid_t> awaited_;  // its parent has said of it before it was seen
};

}  // namespace reveza::testing
