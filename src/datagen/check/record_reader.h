// Records of a text file, one after the other, whatever their number: a few megabytes of the file
// are in memory at a time. Not safe from several threads.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace reveza::datagen::check {

class RecordReader {
 public:
  // Looks at `text` from `begin` on for the end of a record: npos where it is not there yet.
  // `last`: no more text will come.
  using FindEnd = std::size_t (*)(std::string_view text, bool last);

  static Result<RecordReader> Open(const std::filesystem::path& path);

  // The next record, valid until the next call; empty after the last one.
  Result<std::string_view> Next(FindEnd find_end);
  // Goes over all bytes that stand in `bytes`.
  Status Skip(std::string_view bytes);

 private:
  explicit RecordReader(std::ifstream file) : file_(std::move(file)) {}
  Status Fill();

  std::ifstream file_;
  std::string text_;
  std::size_t begin_ = 0;
  bool last_ = false;
};

}  // namespace reveza::datagen::check
