#include "datagen/output/columnar/arrow_sink.h"

#include <string_view>
#include <utility>

namespace reveza::datagen {

arrow::Status ArrowSink::Write(const void* data, int64_t size) {
  if (!error_) {
    auto appended = sink_.Append(
        std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size)));
    if (appended) {
      written_ += size;
      return arrow::Status::OK();
    }
    error_ = std::move(appended).error();
  }
  return arrow::Status::IOError(error_->message);
}

arrow::Status ArrowSink::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

void ArrowSink::Abandon() {
  if (!error_) error_ = Error{Error::Code::kInternal, "the file was given up"};
}

Error ArrowSink::ErrorOf(const arrow::Status& status) const {
  if (error_) return *error_;
  const Error::Code code =
      status.IsOutOfMemory() ? Error::Code::kExhausted : Error::Code::kInternal;
  return {code, "could not write columns: " + status.ToString()};
}

}  // namespace reveza::datagen
