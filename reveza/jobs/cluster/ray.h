// Ray, by the job server of its cluster, which reveza_ray.py asks and runs arrays under.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reveza/jobs/cluster/cluster_engine.h"

namespace reveza::jobs {

// An array is a job of Ray, and its tasks are tasks of that job.
class Ray final : public ClusterEngine {
 public:
  // kNotFound: python3 is not in PATH.
  static Result<std::unique_ptr<Ray>> Find();

  ClusterKind kind() const override { return ClusterKind::kRay; }
  std::uint32_t max_task() const override { return 1000; }
  std::string_view time_limit_advice() const override { return ""; }
  ArrayScript Script(const std::filesystem::path& reveza,
                     const std::filesystem::path& array) const override;
  Status Submit(const ArrayRequest& array) const override;
  Result<std::vector<TaskReport>> Tasks(std::span<const ArrayPlace> arrays) const override;
  std::vector<TaskReport> PastTasks(const ArrayPlace& array) const override;
  Status Drain(const ArrayPlace& array) const override;
  Status Cancel(const ArrayPlace& array) const override;
  bool SaysOutOfMemory(const std::filesystem::path& log) const override;

 private:
  Ray() = default;
};

// Pure functions, for the above.
// Returns what a task asks for, as JSON of arguments of ray.remote().
std::string RayResources(const TaskResources& each);
// Parses "NAME|TASK|STATE|REASON"; other lines are skipped.
std::vector<TaskReport> ParseRayTasks(std::string_view text);

}  // namespace reveza::jobs
