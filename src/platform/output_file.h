// A file that appears under its name only when it is whole and on the disk. Until then it has a
// name of its own beside it (.NAME.NUMBER.partial), which goes with the object. Whoever writes
// holds a lock on it, so that what a dead process left can be told from what a living one, of
// another machine even, is about to finish. Not safe from several threads.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"

namespace reveza::platform {

// Removes what writers of `path` left behind that died before they finished. How many there were;
// what cannot be looked at is left alone.
int RemoveAbandoned(const std::filesystem::path& path);

class OutputFile {
 public:
  // The folder of `path` must be there.
  static Result<OutputFile> Create(std::filesystem::path path);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  // Without Finish, nothing remains.
  ~OutputFile();

  // Unbuffered. After an error only the destructor is left to call.
  Status Append(std::string_view bytes);

  // Makes the bytes last and gives the file its name, in place of what had it. Called once. An
  // error of the last step, making the name last, leaves the whole file under its name.
  Status Finish();

 private:
  OutputFile(std::filesystem::path path, std::filesystem::path partial, UniqueFd file);

  std::filesystem::path path_;
  std::filesystem::path partial_;  // empty once it is renamed
  UniqueFd file_;
};

}  // namespace reveza::platform
