#include "datagen/check/record_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace reveza::datagen::check {
namespace {

// No record of ours comes near it: a file that has one is of another kind.
constexpr std::size_t kMostRecordBytes = std::size_t{16} << 20;

}  // namespace

Status RecordReader::Fill() {
  text_.erase(0, begin_);
  begin_ = 0;
  if (text_.size() > kMostRecordBytes) {
    return Fail(Error::Code::kInvalidArgument, "a record has no end");
  }
  const std::size_t before = text_.size();
  const std::size_t step = bytes_->step();
  text_.resize(before + step);
  const auto got = bytes_->ReadAt(position_, std::span(text_).subspan(before));
  if (!got) return std::unexpected(got.error());
  text_.resize(before + *got);
  position_ += *got;
  last_ = *got < step;
  return {};
}

Status RecordReader::Skip(std::string_view bytes) {
  while (true) {
    begin_ = std::min(text_.find_first_not_of(bytes, begin_), text_.size());
    if (begin_ < text_.size() || last_) return {};
    if (auto filled = Fill(); !filled) return filled;
  }
}

Result<std::string_view> RecordReader::Next(FindEnd find_end) {
  while (true) {
    const std::string_view text = std::string_view(text_).substr(begin_);
    const std::size_t end = text.empty() ? std::string_view::npos : find_end(text, last_);
    if (end != std::string_view::npos) {
      begin_ += end;
      return text.substr(0, end);
    }
    if (last_) {
      if (text.empty()) return text;
      return Fail(Error::Code::kInvalidArgument, "ends in the middle of a record");
    }
    if (auto filled = Fill(); !filled) return std::unexpected(std::move(filled).error());
  }
}

}  // namespace reveza::datagen::check
