// Content-based step identities: finished work is recognised by what a step does, not by its
// position in the job.
//
// A step's identity is a 128-bit hash (XXH3) of
//   - its command template, unexpanded, and whether it is run by a shell,
//   - its parameters, names and values, in any order,
//   - its working folder,
//   - the environment variables set for it, unexpanded, and the values (or absence) of its identity
//     variables: hashed, never stored,
//   - the contents of its input files,
//   - the number of equal steps before it in the job.
// {from}, {slot} and {step} count as text, not by their values. Time limits, priorities, claims and
// the number of cycles are not part of the identity.
//
// Pure functions of their arguments and of the file system; FileHashCache is not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/platform/runtime_paths.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/supervisor/attempt.h"

namespace reveza::jobs {

// Converts an identity to 32 hexadecimal digits; ParseIdentity() converts it back.
std::string FormatIdentity(const Identity& identity);

// Hashes each file once, even when many steps name it.
class FileHashCache {
 public:
  // Returns the hash of a file, reading it on the first call. kNotFound, kPermission,
  // kInvalidArgument (not a regular file).
  Result<Identity> Hash(const std::filesystem::path& path);

  // All files hashed so far, by path.
  const std::map<std::filesystem::path, Identity>& files() const { return files_; }

 private:
  std::map<std::filesystem::path, Identity> files_;
};

// Computes the identity of each step, in order; all are distinct. `environment` is the runner's
// own. Input files are hashed through `files`. Fails when a template is invalid (kInvalidArgument)
// or an input file cannot be read (see FileHashCache::Hash).
Result<std::vector<Identity>> ComputeIdentities(
    const Job& job, FileHashCache& files,
    const platform::Environment& environment = platform::ProcessEnvironment);
Result<std::vector<Identity>> ComputeIdentities(const Job& job);

// Resolves a program name as execvp does: a path when it contains a slash, otherwise the first
// executable in `search_path` (the value of PATH). kNotFound; kPermission: not executable.
Result<std::filesystem::path> FindProgram(std::string_view word,
                                          const std::filesystem::path& folder,
                                          std::string_view search_path);

// Returns the default name of a job: its program and eight hexadecimal digits of the hash of its
// commands and folders, such as "simulate-3f2a9c01". Does not depend on the parameters.
std::string DefaultName(const Job& job);

}  // namespace reveza::jobs
