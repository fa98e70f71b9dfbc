// The control group of one step: made before it, read when it has ended, then removed.
// Part of the supervisor: libc and header-only C++ only. Thread-safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"
#include "runner/supervisor/attempt.h"

namespace reveza::runner {

class StepGroup {
 public:
  // Makes the folder and writes the limits into it. An error: the step runs without. kUnavailable:
  // a group of this name has something alive in it, which is not to be counted or killed with it.
  static Result<StepGroup> Make(const GroupRequest& request);

  StepGroup(StepGroup&& other) noexcept = default;
  StepGroup& operator=(StepGroup&& other) noexcept = default;
  // Nothing is removed: what lives in it may outlive this program.
  ~StepGroup() = default;

  // Version 2: the folder, for clone3 with CLONE_INTO_CGROUP; else -1.
  int folder_descriptor() const { return version_ == 2 ? entry_.get() : -1; }
  // Version 1: `cgroup.procs`, to which a process writes "0" to enter; else -1.
  int members_descriptor() const { return version_ == 1 ? entry_.get() : -1; }

  // SIGKILL to all in it at once, whatever they fork meanwhile. False: this kernel has no such
  // thing (version 1, or before Linux 5.14).
  bool Kill() const;
  // What the kernel counted. `kills` is 0 where it does not say.
  GroupEnd Look() const { return LookAt(folder_, version_).value_or(GroupEnd{}); }
  // The same of any group. Nothing where its counters cannot be read.
  static std::optional<GroupEnd> LookAt(const std::string& folder, int version);
  // False: something lives in it.
  bool Remove() const;

 private:
  StepGroup(int version, std::string folder, UniqueFd entry)
      : version_(version), folder_(std::move(folder)), entry_(std::move(entry)) {}

  int version_ = 0;
  std::string folder_;
  UniqueFd entry_;
};

}  // namespace reveza::runner
