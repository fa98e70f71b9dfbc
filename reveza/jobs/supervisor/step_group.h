// The control group of a step: created before it starts, read and removed after it has ended.
// Not thread-safe.
#pragma once

#include <optional>
#include <string>

#include "common/base/error.h"
#include "common/base/unique_fd.h"
#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

class StepGroup {
 public:
  // Creates the group and sets its limits. kUnavailable: a group of this name contains live
  // processes. On any error the step runs without a group.
  static Result<StepGroup> Create(const GroupRequest& request);

  StepGroup(StepGroup&& other) noexcept = default;
  StepGroup& operator=(StepGroup&& other) noexcept = default;
  // Does not remove the group; its processes may outlive the supervisor.
  ~StepGroup() = default;

  // Version 2: the group's folder, for CLONE_INTO_CGROUP; else -1.
  int folder_descriptor() const { return version_ == 2 ? entry_.get() : -1; }
  // Version 1: `cgroup.procs`, to which a process writes "0" to enter the group; else -1.
  int members_descriptor() const { return version_ == 1 ? entry_.get() : -1; }

  // Atomically sends SIGKILL to all processes in the group. Returns false where unsupported
  // (version 1, or before Linux 5.14).
  bool Kill() const;
  // Returns the kernel's counters; `kills` is 0 if unavailable.
  GroupStats Stats() const { return ReadStats(folder_, version_).value_or(GroupStats{}); }
  // Reads the counters of any group; nullopt if unreadable.
  static std::optional<GroupStats> ReadStats(const std::string& folder, int version);
  // Returns false if the group is not empty.
  bool Remove() const;

 private:
  StepGroup(int version, std::string folder, UniqueFd entry)
      : version_(version), folder_(std::move(folder)), entry_(std::move(entry)) {}

  int version_ = 0;
  std::string folder_;
  UniqueFd entry_;
};

}  // namespace reveza::jobs
