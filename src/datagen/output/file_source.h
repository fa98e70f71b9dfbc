// The bytes of a file on disk.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/unique_fd.h"
#include "datagen/output/byte_source.h"

namespace reveza::datagen {

class FileSource final : public ByteSource {
 public:
  // kNotFound where there is no such file.
  static Result<std::unique_ptr<ByteSource>> Open(const std::filesystem::path& path);

  FileSource(UniqueFd file, uint64_t size, std::string path)
      : file_(std::move(file)), size_(size), path_(std::move(path)) {}

  uint64_t size() const override { return size_; }
  std::size_t step() const override { return std::size_t{1} << 16; }
  Result<std::size_t> ReadAt(uint64_t position, std::span<char> to) override;

 private:
  UniqueFd file_;
  uint64_t size_;
  std::string path_;
};

}  // namespace reveza::datagen
