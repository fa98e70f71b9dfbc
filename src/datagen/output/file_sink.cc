#include "datagen/output/file_sink.h"

namespace reveza::datagen {

Result<FileSink> FileSink::Create(std::filesystem::path path) {
  auto file = platform::OutputFile::Create(std::move(path));
  if (!file) return std::unexpected(std::move(file).error());
  return FileSink(*std::move(file));
}

Status FileSink::Append(std::string_view bytes) {
  if (bytes.size() < kDirect) {
    if (gathered_.capacity() == 0) gathered_.reserve(kGathered + kDirect);
    gathered_ += bytes;
    return gathered_.size() < kGathered ? Status() : Flush();
  }
  if (auto flushed = Flush(); !flushed) return flushed;
  return file_.Append(bytes);
}

Status FileSink::Finish() {
  if (auto flushed = Flush(); !flushed) return flushed;
  return file_.Finish();
}

Status FileSink::Flush() {
  auto appended = file_.Append(gathered_);
  gathered_.clear();
  return appended;
}

}  // namespace reveza::datagen
