// The control group of a job, with one for each of its steps below it. Thread-safety: none.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"
#include "platform/cgroup_ground.h"
#include "runner/supervisor/attempt.h"

namespace reveza::runner {

class JobGroup {
 public:
  // Makes it, or takes the one that a killed runner has left. `name` begins with "reveza-". Where
  // this process must leave its group first it does, and what it starts from now on is there too.
  // An error: the kernel refused, and all is as it was.
  static Result<JobGroup> Make(const platform::CgroupGround& ground, const std::string& name);

  JobGroup(JobGroup&& other) noexcept;
  JobGroup& operator=(JobGroup&&) = delete;
  // Removes it and goes back to where this process was, if nothing lives in it.
  ~JobGroup();

  const std::filesystem::path& folder() const { return folder_; }
  // Where this process had to go; empty: it stayed where it was.
  const std::filesystem::path& leaf() const { return leaf_; }
  int version() const { return ground_.version; }
  // Named by what the step is, not by its place in the list: a list that was changed has another
  // step there, while the one of before may still run.
  std::filesystem::path ForStep(const AttemptName& name) const;

 private:
  JobGroup(platform::CgroupGround ground, std::filesystem::path folder)
      : ground_(std::move(ground)), folder_(std::move(folder)) {}
  Status Enter();
  void Leave();

  platform::CgroupGround ground_;
  std::filesystem::path folder_;
  std::filesystem::path leaf_;  // where this process is; empty: where it was
};

// Removes a job's group with those of its steps, of which nothing lives. Only what has a name that
// Make gives. False: something is left.
bool RemoveJobGroup(const std::filesystem::path& folder);

// Removes the leaf of a runner that was killed, of which nothing lives, and hands memory down no
// more where it did if nobody else has a group there. False: something is left.
bool RemoveLeaf(const std::filesystem::path& leaf);

}  // namespace reveza::runner
