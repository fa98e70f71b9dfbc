// How a file differs from the one that its settings give, and the comparisons that find out. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen::check {

struct Difference {
  uint64_t row = 0;    // in the file, from 1; 0: the file as a whole
  std::string column;  // empty: the whole row
  std::string found;   // empty: the row or column is missing
  std::string expected;
};

// Returns "row 12, mcc_code: 5814, should be 5815".
std::string TextOf(const Difference& difference);

struct FileDifferences {
  static constexpr std::size_t kMaxShown = 10;

  std::string file;
  std::string table;
  uint64_t count = 0;
  std::vector<Difference> first;  // at most kMaxShown

  void Add(Difference difference) {
    if (++count <= kMaxShown) first.push_back(std::move(difference));
  }
};

// Compares the bytes that are appended with those of a stored file, which is read once.
class ComparingSink final : public ByteSink {
 public:
  // `difference` is set to the position of the first different byte; it must outlive the sink.
  ComparingSink(std::unique_ptr<ByteSource> stored, std::optional<uint64_t>& difference);

  Status Append(std::string_view bytes) override;
  // Also detects a longer stored file.
  Status Finish() override;

 private:
  std::unique_ptr<ByteSource> stored_;
  std::optional<uint64_t>& difference_;
  uint64_t position_ = 0;
  // Bytes of the stored file at `position_`.
  std::string buffer_;
  std::size_t taken_ = 0;
  std::size_t filled_ = 0;
};

// Returns a writer that compares rows with those of a stored file in any format, and adds the
// differences. It does not depend on the libraries that wrote the file. `differences` must outlive
// it.
Result<std::unique_ptr<TableWriter>> CompareRows(const TableOptions& options, const Table& table,
                                                 std::unique_ptr<ByteSource> stored,
                                                 FileDifferences& differences);

// The same for text formats.
Result<std::unique_ptr<TableWriter>> CompareTextRows(const TableOptions& options,
                                                     const Table& table,
                                                     std::unique_ptr<ByteSource> stored,
                                                     FileDifferences& differences);

// The same for Parquet and Arrow files. Only in builds with Arrow (common/table/arrow.h).
Result<std::unique_ptr<TableWriter>> CompareArrowRows(const TableOptions& options,
                                                      const Table& table,
                                                      std::unique_ptr<ByteSource> stored,
                                                      FileDifferences& differences);

}  // namespace reveza::fraudgen::check
