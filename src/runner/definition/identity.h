// What makes a step the one that it is, so that what is finished is known again: by content, not by
// its place in a list.
//
// A step's identity is a 128-bit hash (XXH3) of
//   - its command as it is written, braces unexpanded, and whether a shell reads it,
//   - its parameters, names and values, in any order,
//   - the folder it runs in,
//   - the variables that are set for it, as they are written, and the values (or the absence) of
//     those that are named as part of its identity: hashed, never stored,
//   - the content of its input files,
//   - how many equal steps stand before it in the job.
// {from}, {slot} and {step} are part of it as words, not as numbers; time limits, priorities,
// claims and the number of cycles are not.
//
// Thread-safety: pure functions of their arguments and of files; a FileHashes belongs to one
// thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "platform/runtime_paths.h"
#include "runner/job.h"
#include "runner/supervisor/attempt.h"

namespace reveza::runner {

// 32 hexadecimal digits, and back. Nothing: something else.
std::string IdentityText(const Identity& identity);
std::optional<Identity> ParseIdentity(std::string_view text);

// A file as it was when it was read.
struct FileContent {
  std::filesystem::path path;
  Bytes size = 0;
  std::int64_t modified = 0;  // nanoseconds since 1970
  Identity hash{};

  bool operator==(const FileContent&) const = default;
};

// Reads each file once, however many steps name it.
class FileHashes {
 public:
  // kNotFound, kPermission, kInvalidArgument (a folder): what is wrong with the file.
  Result<FileContent> Of(const std::filesystem::path& path);

  // All that were read, by path.
  const std::map<std::filesystem::path, FileContent>& files() const { return files_; }

 private:
  std::map<std::filesystem::path, FileContent> files_;
};

// One for each step, in their order; no two are equal. `environment` is the runner's own. What was
// read is noted in `files`. kInvalidArgument: a template is wrong; an input file cannot be read.
Result<std::vector<Identity>> IdentitiesOf(
    const Job& job, FileHashes& files,
    const platform::Environment& environment = platform::ProcessEnvironment);
Result<std::vector<Identity>> IdentitiesOf(const Job& job);

// The file that is started for a word: as it is with a slash in it, else the first in `search_path`
// (the value of PATH). kNotFound: there is none that can be executed.
Result<std::filesystem::path> FindProgram(std::string_view word,
                                          const std::filesystem::path& folder,
                                          std::string_view search_path);

// That file's content, so that a program that has changed can be told from the one that ran.
Result<FileContent> ProgramIdentity(std::string_view word, const std::filesystem::path& folder,
                                    std::string_view search_path, FileHashes& files);

// What a job without a name is called: its program and eight digits of the hash of its commands and
// folders, such as "simulate-3f2a9c01". The same for the same commands, whatever their parameters.
std::string DefaultName(const Job& job);

}  // namespace reveza::runner
