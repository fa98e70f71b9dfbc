// Bytes that become a file under their name only when they are whole (platform/output_file.h).
// Small pieces are gathered, so that the system is called for at least 1 MiB at a time or for what
// came in one piece. Not safe from several threads.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "datagen/output/byte_sink.h"
#include "platform/output_file.h"

namespace reveza::datagen {

class FileSink final : public ByteSink {
 public:
  static constexpr std::size_t kGathered = std::size_t{1} << 20;
  // What is at least so long is not worth copying.
  static constexpr std::size_t kDirect = std::size_t{1} << 17;

  static Result<FileSink> Create(std::filesystem::path path);

  Status Append(std::string_view bytes) override;
  Status Finish() override;

 private:
  explicit FileSink(platform::OutputFile file) : file_(std::move(file)) {}

  Status Flush();

  platform::OutputFile file_;
  std::string gathered_;
};

}  // namespace reveza::datagen
