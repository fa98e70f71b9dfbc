// A file that only grows, from a place that was settled before. Not safe from several threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"

namespace reveza::phi {

class AppendedFile {
 public:
  // Cuts the file to `bytes`, which may not be more than it has; makes it where it is not there.
  static Result<AppendedFile> Open(const std::filesystem::path& path, std::uint64_t bytes);

  Status Append(std::string_view text);
  // Makes all of it last; how long the file is.
  Result<std::uint64_t> Settle();

 private:
  AppendedFile(std::filesystem::path path, UniqueFd file, std::uint64_t bytes)
      : path_(std::move(path)), file_(std::move(file)), bytes_(bytes) {}
  Status Flush();

  std::filesystem::path path_;
  UniqueFd file_;
  std::uint64_t bytes_;
  std::string waiting_;
};

}  // namespace reveza::phi
