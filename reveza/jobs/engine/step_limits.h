// Enforces the memory limits of steps: by a cgroup per step if this process may create some, else
// by a scope of the systemd user manager, else by sampling once per second. Never by RLIMIT_AS,
// which bounds address space: GPU programs reserve far more of it than they use. Not thread-safe.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "common/platform/cgroup.h"
#include "common/platform/runtime_paths.h"
#include "reveza/jobs/definition/run_request.h"
#include "reveza/jobs/engine/worker_pool.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

// The cgroup of a job, with a child group per step. Not thread-safe.
class JobGroup {
 public:
  // Creates the group, or reuses the one left by a killed runner. `name` starts with "reveza-". If
  // the ground requires it, first moves this process, and thus its future children, to a leaf
  // group. On error everything is unchanged.
  static Result<JobGroup> Make(const platform::CgroupDelegation& ground, const std::string& name);

  JobGroup(JobGroup&& other) noexcept;
  JobGroup& operator=(JobGroup&&) = delete;
  // Removes the group if it is empty, and moves this process back.
  ~JobGroup();

  const std::filesystem::path& folder() const { return folder_; }
  // Returns the leaf group that this process moved to; empty if it did not move.
  const std::filesystem::path& leaf() const { return leaf_; }
  int version() const { return ground_.version; }
  // Returns the group of a step, named by identity rather than index: after the list has changed,
  // the index may denote another step while the former one still runs.
  std::filesystem::path ForStep(const AttemptName& name) const;

 private:
  JobGroup(platform::CgroupDelegation ground, std::filesystem::path folder)
      : ground_(std::move(ground)), folder_(std::move(folder)) {}
  Status EnterLeaf();
  void LeaveLeaf();

  platform::CgroupDelegation ground_;
  std::filesystem::path folder_;
  std::filesystem::path leaf_;  // group of this process; empty: not moved
};

// Removes the empty group of a job and those of its steps. Ignores names that Make() does not give.
// Returns false if a group is left.
bool RemoveJobGroup(const std::filesystem::path& folder);

// Removes the empty leaf group of a killed runner, and disables the memory controller for its
// parent's children if no other group is there. Returns false if the leaf is left.
bool RemoveLeaf(const std::filesystem::path& leaf);

struct LimitsChoice {
  Limits by = Limits::kNone;  // never kAuto
  std::string description{};  // for the user: the method, and why no better one
  std::optional<platform::CgroupDelegation> ground{};  // with kCgroup
  std::filesystem::path systemd_run{};                 // with kSystemd
  std::filesystem::path scopes{};  // with kSystemd: the parent group of its scopes
};

// Chooses the method without changing anything. kInvalidArgument: the requested one is unavailable;
// the message says why. While other processes share this process's group, calls `wait` and tries
// again if it returns true.
Result<LimitsChoice> ChooseLimits(Limits requested, const platform::Environment& environment,
                                  const std::filesystem::path& root = "/",
                                  const std::function<bool()>& wait = {});

class StepLimits {
 public:
  // Creates the job's group if the method needs one, and removes groups left by a killed runner.
  static Result<StepLimits> Create(Limits requested, const platform::Environment& environment,
                                   const JobFolder& folder,
                                   const std::filesystem::path& root = "/");
  StepLimits() = default;

  Limits by() const { return choice_.by; }
  const std::string& description() const { return choice_.description; }

  // Adds the limit to the request, and what the runner has to watch to `active`. `brief`: steps of
  // its command finish at once and are not worth a group, unless their need was declared.
  // `last_attempt`: see MemoryLimitFor.
  void Apply(const Need& need, bool brief, bool last_attempt, ActiveAttempt& active,
             StartRequest& request) const;

 private:
  LimitsChoice choice_;
  std::unique_ptr<JobGroup> group_;
};

// Removes the empty groups left by killed runners of the job.
void RemoveStaleGroups(const JobFolder& folder);

}  // namespace reveza::jobs
