// Slurm, by its commands: sbatch, squeue, sacct and scancel.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reveza/jobs/cluster/cluster_engine.h"

namespace reveza::jobs {

// An array is an array of Slurm, whose job has its name.
class Slurm final : public ClusterEngine {
 public:
  // kNotFound: a command is not in PATH.
  static Result<std::unique_ptr<Slurm>> Find();

  ClusterKind kind() const override { return ClusterKind::kSlurm; }
  std::uint32_t max_task() const override { return max_task_; }
  std::string_view time_limit_advice() const override {
    return "SBATCH_TIMELIMIT sets a longer one";
  }
  ArrayScript Script(const std::filesystem::path& reveza,
                     const std::filesystem::path& array) const override;
  Status Submit(const ArrayRequest& array) const override;
  Result<std::vector<TaskReport>> Tasks(std::span<const ArrayPlace> arrays) const override;
  std::vector<TaskReport> PastTasks(const ArrayPlace& array) const override;
  Status Drain(const ArrayPlace& array) const override;
  Status Cancel(const ArrayPlace& array) const override;
  bool SaysOutOfMemory(const std::filesystem::path& log) const override;

 private:
  explicit Slurm(std::uint32_t max_task) : max_task_(max_task) {}

  std::uint32_t max_task_;
};

// Pure functions, for the above.
std::vector<std::string> SubmitCommand(const ArrayRequest& array);
// Parses "NAME|TASK|STATE|MEMORY|REASON" of squeue; other lines are skipped.
std::vector<TaskReport> ParseQueue(std::string_view text);
// Parses "NAME|ID_TASK|STATE" of sacct.
std::vector<TaskReport> ParseAccounting(std::string_view text);
// Parses "4000M" or "1.50G"; nullopt for 0, which means all of the node or unknown.
std::optional<Bytes> ParseMemory(std::string_view text);

}  // namespace reveza::jobs
