#include "fraudgen/check/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/table/arrow.h"

namespace reveza::fraudgen::check {

std::string TextOf(const Difference& difference) {
  const std::string place =
      difference.row == 0 ? std::string() : fmt::format("row {}", difference.row);
  if (difference.column.empty()) {
    const char* separator = place.empty() ? "" : ": ";
    if (difference.expected.empty()) return place + separator + difference.found;
    if (difference.found.empty()) {
      return fmt::format("{}{}missing, should be {}", place, separator, difference.expected);
    }
    return fmt::format("{}{}{}, should be {}", place, separator, difference.found,
                       difference.expected);
  }
  return fmt::format("{}{}{}: {}, should be {}", place, place.empty() ? "" : ", ",
                     difference.column, difference.found.empty() ? "missing" : difference.found,
                     difference.expected.empty() ? "missing" : difference.expected);
}

ComparingSink::ComparingSink(std::unique_ptr<ByteSource> stored,
                             std::optional<uint64_t>& difference)
    : stored_(std::move(stored)), difference_(difference) {
  buffer_.resize(stored_->step());
}

Status ComparingSink::Append(std::string_view bytes) {
  while (!bytes.empty() && !difference_) {
    if (taken_ == filled_) {
      ASSIGN_OR_RETURN(filled_, stored_->ReadAt(position_, buffer_));
      taken_ = 0;
      if (filled_ == 0) difference_ = position_;
      if (difference_) break;
    }
    const std::size_t count = std::min(bytes.size(), filled_ - taken_);
    const char* found = buffer_.data() + taken_;
    if (std::memcmp(bytes.data(), found, count) != 0) {
      const auto [left, right] =
          std::ranges::mismatch(bytes.substr(0, count), std::string_view(found, count));
      difference_ = position_ + static_cast<uint64_t>(left - bytes.begin());
      break;
    }
    bytes.remove_prefix(count);
    taken_ += count;
    position_ += count;
  }
  return {};
}

Status ComparingSink::Finish() {
  if (!difference_ && position_ != stored_->size()) difference_ = position_;
  return {};
}

Result<std::unique_ptr<TableWriter>> CompareRows(const TableOptions& options, const Table& table,
                                                 std::unique_ptr<ByteSource> stored,
                                                 FileDifferences& differences) {
  if (!IsColumnar(options.format)) {
    return CompareTextRows(options, table, std::move(stored), differences);
  }
  if constexpr (kHaveArrow) {
    return CompareArrowRows(options, table, std::move(stored), differences);
  } else {
    return WithoutArrow("Parquet and Arrow files", "use jsonl, json, csv or tsv");
  }
}

}  // namespace reveza::fraudgen::check
