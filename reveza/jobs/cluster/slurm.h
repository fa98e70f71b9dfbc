// Slurm, by its commands: sbatch, squeue, sacct and scancel. Immutable; thread-safe.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"

namespace reveza::jobs {

// What each task of an array asks for.
struct TaskResources {
  unsigned cpus = 1;
  std::optional<Bytes> memory{};  // nullopt: the cluster's default
  bool gpu = false;
  std::optional<std::chrono::minutes> time{};  // nullopt: the cluster's default

  auto operator<=>(const TaskResources&) const = default;
};

// An array of tasks. Its name is the name of the job of Slurm, and unique.
struct ArrayRequest {
  std::string name;
  std::uint32_t tasks = 1;
  TaskResources resources;
  std::filesystem::path script;  // run by each task
  std::filesystem::path log;     // "%a" stands for the number of the task
};

enum class TaskState : std::uint8_t {
  kPending,
  kRunning,  // or about to end
  kEnded,    // by itself, or unknown to Slurm
  kOutOfMemory,
  kTimeLimit,
  kCancelled,
  kNodeLost,  // or taken away by a job of a higher priority
};
inline bool IsAlive(TaskState state) { return state <= TaskState::kRunning; }

struct TaskReport {
  std::string array;
  std::uint32_t task = 0;  // from 1
  TaskState state = TaskState::kEnded;
  std::string reason{};           // why it is pending: "Priority"
  std::optional<Bytes> memory{};  // what it was given, if Slurm says so
};

class Slurm {
 public:
  // kNotFound: a command is not in PATH.
  static Result<Slurm> Find();

  // Returns the highest number of a task.
  std::uint32_t max_task() const { return max_task_; }

  // Submits an array. kUnavailable: the controller does not answer, and whether it has taken the
  // array is unknown; kInvalidArgument: it has refused it.
  Status Submit(const ArrayRequest& array) const;

  // Returns the tasks of this user's arrays that Slurm knows. kUnavailable: it does not answer.
  Result<std::vector<TaskReport>> Tasks() const;
  // Returns what the accounting knows of the tasks of an array; nothing where there is none.
  std::vector<TaskReport> AccountedTasks(const std::string& array) const;

  enum class Cancel {
    kPending,    // tasks that have not started
    kInterrupt,  // sends SIGINT to the scripts of running tasks
    kAll,
  };
  Status CancelTasks(const std::string& array, Cancel what) const;

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
