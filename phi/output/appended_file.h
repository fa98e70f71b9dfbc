// An append-only file that is truncated to a known length when opened. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/base/unique_fd.h"

namespace reveza::phi {

class AppendedFile {
 public:
  // Opens or creates the file and truncates it to `bytes`. Returns kIncompatible if it is shorter.
  static Result<AppendedFile> Open(const std::filesystem::path& path, std::uint64_t bytes);

  // Appends `text`, buffered.
  Status Append(std::string_view text);
  // Writes the buffer and syncs the file to disk. Returns the length of the file in bytes.
  Result<std::uint64_t> Sync();

 private:
  AppendedFile(std::filesystem::path path, UniqueFd file, std::uint64_t bytes)
      : path_(std::move(path)), file_(std::move(file)), bytes_(bytes) {}
  Status Flush();

  std::filesystem::path path_;
  UniqueFd file_;
  std::uint64_t bytes_;
  std::string buffer_;
};

}  // namespace reveza::phi
