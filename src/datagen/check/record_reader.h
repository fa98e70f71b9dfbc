// Records of a text file, one after the other, whatever their number: a few megabytes of the file
// are in memory at a time. Not safe from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "datagen/output/byte_source.h"

namespace reveza::datagen::check {

class RecordReader {
 public:
  // Looks at `text` from `begin` on for the end of a record: npos where it is not there yet.
  // `last`: no more text will come.
  using FindEnd = std::size_t (*)(std::string_view text, bool last);

  explicit RecordReader(std::unique_ptr<ByteSource> bytes) : bytes_(std::move(bytes)) {}

  // The next record, valid until the next call; empty after the last one.
  Result<std::string_view> Next(FindEnd find_end);
  // Goes over all bytes that stand in `bytes`.
  Status Skip(std::string_view bytes);

 private:
  Status Fill();

  std::unique_ptr<ByteSource> bytes_;
  uint64_t position_ = 0;  // behind what was read
  std::string text_;
  std::size_t begin_ = 0;
  bool last_ = false;
};

}  // namespace reveza::datagen::check
