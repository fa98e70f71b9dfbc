// What a ClusterRun needs of an engine that distributes work. Implementations are immutable and
// thread-safe.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/platform/run_program.h"
#include "reveza/jobs/definition/run_request.h"

namespace reveza::jobs {

// What each task of an array asks for. Without memory or time it gets the engine's default.
struct TaskResources {
  unsigned cpus = 1;
  std::optional<Bytes> memory{};
  bool gpu = false;
  std::optional<std::chrono::minutes> time{};

  auto operator<=>(const TaskResources&) const = default;
};

// An array, with its folder (arrays.h). Its name is unique, and what the engine knows it by.
struct ArrayPlace {
  std::string name;
  std::filesystem::path folder;
};

struct ArrayRequest {
  ArrayPlace place;
  std::uint32_t tasks = 1;
  TaskResources resources;
  std::filesystem::path reveza;  // the program, as nodes find it
};

// A file in the folder of an array that the engine needs there.
struct ArrayScript {
  std::string name;
  std::string text;
};

enum class TaskState : std::uint8_t {
  kPending,
  kRunning,  // or about to end
  kEnded,    // by itself, or unknown to the engine
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
  std::string reason{};           // why it is pending ("Priority"), or was never started
  std::optional<Bytes> memory{};  // what it was given, if the engine says so
  bool is_gone = false;           // the engine knows that no process of it is alive
};

class ClusterEngine {
 public:
  virtual ~ClusterEngine() = default;

  virtual ClusterKind kind() const = 0;
  std::string_view name() const { return NamesOf(kind()).name; }
  // Returns the highest number of a task.
  virtual std::uint32_t max_task() const = 0;
  // What users do about tasks that end at the engine's time limit; "" if it has none.
  virtual std::string_view time_limit_advice() const = 0;

  virtual ArrayScript Script(const std::filesystem::path& reveza,
                             const std::filesystem::path& array) const = 0;

  // Submits an array. kUnavailable: the engine does not answer, and whether it has taken the array
  // is unknown; kInvalidArgument: it has refused it.
  virtual Status Submit(const ArrayRequest& array) const = 0;

  // Returns the tasks of these arrays, and possibly of others, that the engine knows.
  // kUnavailable: it does not answer.
  virtual Result<std::vector<TaskReport>> Tasks(std::span<const ArrayPlace> arrays) const = 0;
  // Returns what it knows of the tasks of an array that Tasks() does not tell any more.
  virtual std::vector<TaskReport> PastTasks(const ArrayPlace& array) const = 0;

  // Takes tasks that have not started out of the queue, and lets running ones end after their step.
  virtual Status Drain(const ArrayPlace& array) const = 0;
  virtual Status Cancel(const ArrayPlace& array) const = 0;

  // Returns whether the engine wrote to the log of a task that it ran out of memory.
  virtual bool SaysOutOfMemory(const std::filesystem::path& log) const = 0;
};

// For programs that ask an engine: Slurm's try for so long to reach a controller, and print a line
// for each task.
inline constexpr std::chrono::seconds kCommandLimit{60};
inline constexpr std::size_t kMaxTaskList = 256 << 20;

// Returns the fields of a line.
std::vector<std::string_view> SplitFields(std::string_view line, char separator);

// Returns the last line that a program wrote to standard error, or else to standard output.
std::string LastLineOf(const platform::ProgramOutput& output);

}  // namespace reveza::jobs
