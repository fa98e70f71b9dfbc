// The arrays of a job in the folder that all machines see:
//
//   SHARED/JOB/array-3/task-7.json       the steps of a task (task_file.h)
//   SHARED/JOB/array-3/run.sh, reveza_ray.py   what the engine runs there
//   SHARED/JOB/array-3/log-7.txt         what its runner says
//   SHARED/JOB/array-3/shard-7-of-9.db, .owner, shard-7-of-9/   what comes back (shard_export.h)
//   SHARED/JOB/array-3/shard-7-of-9/records/   the records of its supervisors
//   SHARED/JOB/array-3/revoked-7         exists once the steps of the task may run elsewhere
//   SHARED/JOB/array-3/cancel            tells its tasks to end: drain or cancel
//   SHARED/JOB/array-3/submitted         exists once the engine has the array
//   SHARED/JOB/engine                    the engine that has the arrays
//
// An array appears as a whole. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/cluster/cluster_engine.h"
#include "reveza/jobs/cluster/task_file.h"
#include "reveza/jobs/definition/shard.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

// A task with its files.
struct TaskPlace {
  std::filesystem::path array;  // the folder
  Shard shard;

  std::filesystem::path file() const;
  std::filesystem::path log() const;
  std::filesystem::path copy() const;     // of its journal
  std::filesystem::path outputs() const;  // of its steps
  std::filesystem::path records() const;
  std::filesystem::path revoked() const;
};

// Returns the path, without suffix, of the outputs of the task's step `position`, from 0.
std::filesystem::path OutputsOfStep(const TaskPlace& place, std::size_t position);

// Returns the numbers of the arrays in a folder, ascending.
Result<std::vector<std::uint32_t>> ListArrays(const std::filesystem::path& folder);
std::filesystem::path ArrayFolder(const std::filesystem::path& folder, std::uint32_t number);

// Writes the folder of an array.
Status WriteArray(const std::filesystem::path& folder, std::uint32_t number,
                  const std::vector<TaskFile>& tasks, const ArrayScript& script);
// Reads its tasks.
Result<std::vector<TaskFile>> ReadArray(const std::filesystem::path& array);

// The engine that has the arrays of a folder. kNone: an unknown one.
ClusterKind EngineOf(const std::filesystem::path& folder);
Status NoteEngine(const std::filesystem::path& folder, ClusterKind kind);

// Returns kUnavailable, which says how to continue what may run on the engine of a folder.
std::unexpected<Error> MayRunElsewhere(const std::filesystem::path& folder);
// Notes in the journal which folder has arrays that may run steps of the job; empty: none.
Status NoteArrays(Journal& journal, const std::filesystem::path& folder);
// Refuses a run on this machine while arrays may run the same steps: kUnavailable.
Status CheckNoArrays(Journal& journal);

bool WasSubmitted(const std::filesystem::path& array);
Status MarkSubmitted(const std::filesystem::path& array);

// What tasks that are told to end look for: where engines send no signals. Appears as a whole.
inline constexpr const char* kCancelFile = "cancel";
Status TellTasks(const std::filesystem::path& array, std::string_view word);

// Lets a task that starts from now on run nothing. A runner looks for that after it has claimed the
// task, home for the runner after it has revoked it: one of them sees the other.
Status RevokeTask(const TaskPlace& place);
bool IsRevoked(const TaskPlace& place);

// Returns whether a process of the task is alive: its runner, a supervisor or a step. What a runner
// has not told for two minutes does not count (owner_file.h), where locks are not seen by other
// machines.
Result<bool> HasLiveProcess(const TaskPlace& place);

// Imports what the task has done into the journal: from the copy of its journal, if that has
// changed since `seen`; and, once no process of it is alive, from the records of its supervisors.
Status ImportCopy(const TaskPlace& place, Journal& journal,
                  std::optional<std::filesystem::file_time_type>& seen);
Status ImportRest(const TaskPlace& place, Journal& journal);

}  // namespace reveza::jobs
