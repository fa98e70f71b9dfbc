// Writes a file atomically: it appears under its name only when it is complete and synced. Until
// then it is .NAME.NUMBER.partial in the same folder, which the destructor removes. The writer
// holds a lock on it, so that files abandoned by a dead process can be told from those in progress,
// even on another machine. Not thread-safe.
#pragma once

#include <filesystem>
#include <string_view>

#include "common/base/error.h"
#include "common/base/unique_fd.h"

namespace reveza::platform {

// Removes the partial files of dead writers of `path`; skips those that cannot be examined. Returns
// how many were removed.
int RemoveAbandoned(const std::filesystem::path& path);

class OutputFile {
 public:
  // Creates a partial file. The folder of `path` must exist.
  static Result<OutputFile> Create(std::filesystem::path path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // Removes the partial file unless Finish() was called.
  ~OutputFile();

  // Appends without buffering. After an error the object can only be destroyed.
  Status Append(std::string_view bytes);

  // Syncs the file and renames it, replacing an existing one. Call once. If only the final sync of
  // the folder fails, the complete file has its name nevertheless.
  Status Finish();

 private:
  OutputFile(std::filesystem::path path, std::filesystem::path partial, UniqueFd file);

  std::filesystem::path path_;
  std::filesystem::path partial_;  // empty after the rename
  UniqueFd file_;
};

}  // namespace reveza::platform
