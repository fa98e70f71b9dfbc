// Where jobs are kept: a folder each, below $REVEZA_STATE, else $XDG_STATE_HOME/reveza, else
// ~/.local/state/reveza.
//
//   jobs/ID/journal.db   what is known of it
//   jobs/ID/records/     one file a supervisor: what it started and how it ended
//   jobs/ID/outputs/     what the steps printed
//   jobs/ID/added.json   steps that were added to it, for when the journal is damaged
//   jobs/ID/lock         held by the runner
//   jobs/ID/control-group  where the groups of the last run's steps were, or are
//
// Thread-safety: pure functions of the system.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "platform/runtime_paths.h"

namespace reveza::runner {

Result<std::filesystem::path> StateHome(const platform::Environment& environment);

// A name that may be that of a folder: what is none is said, with what would be right.
Status CheckJobName(const std::string& name);

class JobFolder {
 public:
  // Makes the folder and those in it where they are not there.
  static Result<JobFolder> Make(const std::filesystem::path& state, const std::string& id);
  // kNotFound: there is no such job; names those that there are.
  static Result<JobFolder> Find(const std::filesystem::path& state, const std::string& id);
  // The names of all jobs, sorted.
  static std::vector<std::string> All(const std::filesystem::path& state);

  // Held until the descriptor is closed; kUnavailable when another runner works on the job.
  Result<UniqueFd> Lock() const;
  Result<bool> IsLocked() const;

  const std::string& id() const { return id_; }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path journal() const { return path_ / "journal.db"; }
  std::filesystem::path records() const { return path_ / "records"; }
  std::filesystem::path added() const { return path_ / "added.json"; }
  std::filesystem::path outputs() const { return path_ / "outputs"; }
  // A name in records/ that no file has had.
  std::filesystem::path NewRecord() const;

 private:
  JobFolder(std::filesystem::path path, std::string id)
      : path_(std::move(path)), id_(std::move(id)) {}

  std::filesystem::path path_;
  std::string id_;
};

}  // namespace reveza::runner
