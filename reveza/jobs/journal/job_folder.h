// The folder of a job, below $REVEZA_STATE, else $XDG_STATE_HOME/reveza, else
// ~/.local/state/reveza.
//
//   jobs/ID/journal.db     the journal
//   jobs/ID/records/       one record per supervisor: attempts and their results
//   jobs/ID/outputs/       standard output and error of the steps
//   jobs/ID/added.json     backup of steps added to the job, should the journal be damaged
//   jobs/ID/commands.json  the commands of the last run
//   jobs/ID/lock           held by the runner
//   jobs/ID/control-group  path of the last run's control group
//
// Thread-safe.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/unique_fd.h"
#include "common/platform/runtime_paths.h"

namespace reveza::jobs {

// Validates a job name, which is also a folder name. kInvalidArgument states the rules.
Status CheckJobName(const std::string& name);

class JobFolder {
 public:
  // Creates the folder and its subfolders as needed.
  static Result<JobFolder> Create(const std::filesystem::path& state, const std::string& id);
  // kNotFound: no such job; the message suggests a similar name.
  static Result<JobFolder> Find(const std::filesystem::path& state, const std::string& id);
  // Returns the names of all jobs, sorted.
  static std::vector<std::string> List(const std::filesystem::path& state);

  // Takes the lock until the descriptor is closed. kUnavailable: held by another runner.
  Result<UniqueFd> Lock() const;
  Result<bool> IsLocked() const;

  const std::string& id() const { return id_; }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path journal() const { return path_ / "journal.db"; }
  std::filesystem::path records() const { return path_ / "records"; }
  std::filesystem::path added() const { return path_ / "added.json"; }
  std::filesystem::path outputs() const { return path_ / "outputs"; }
  std::filesystem::path commands() const { return path_ / "commands.json"; }
  // Returns a unique path in records/.
  std::filesystem::path NewRecord() const;

 private:
  JobFolder(std::filesystem::path path, std::string id)
      : path_(std::move(path)), id_(std::move(id)) {}

  std::filesystem::path path_;
  std::string id_;
};

}  // namespace reveza::jobs
