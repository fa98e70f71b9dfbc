// What the readers of JSON, CSV and TSV files share: records of bounded size, and cells that are
// parsed into batches. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fraudgen/check/row_source.h"

namespace reveza::fraudgen::check {

// Codes of a category's values.
using CategoryCodes = std::unordered_map<std::string_view, uint16_t>;
CategoryCodes CodesOf(const Column& column);

// Stores the value that `text` denotes in `row`; a kText is appended. Returns false if it is
// invalid for the column. Decimals may have fewer places than the column.
bool SetValue(const Column& column, const CategoryCodes& codes, std::string_view text,
              std::size_t row, ColumnValues& values);

struct Cell {
  enum class Kind { kMissing, kNull, kText, kBare };
  Kind kind = Kind::kMissing;
  std::string_view text;
};

class RowBuilder {
 public:
  // `quotes`: text and only text is quoted, as in JSON.
  RowBuilder(const Table& table, bool quotes, std::string file, ReadFaults& faults);

  void Begin(Batch& batch);
  bool full() const { return rows_ == Batch::kMaxRows; }
  std::size_t rows() const { return rows_; }
  // Adds a row with one cell per column of the table.
  void Add(std::span<const Cell> cells);
  void End();

 private:
  const Table& table_;
  bool quotes_;
  std::string file_;
  ReadFaults& faults_;
  std::vector<CategoryCodes> codes_;
  Batch* batch_ = nullptr;
  std::size_t rows_ = 0;
  uint64_t rows_before_ = 0;  // rows of earlier batches of the file
};

// Splits a text file into records.
class RecordReader {
 public:
  // Returns the end of the record at the start of `text`; npos if more text is needed. `last`: this
  // is the end of the file.
  using FindEnd = std::size_t (*)(std::string_view text, bool last);

  explicit RecordReader(std::unique_ptr<ByteSource> bytes) : bytes_(std::move(bytes)) {}

  // Returns the next record, valid until the next call; empty at the end.
  Result<std::string_view> Next(FindEnd find_end);
  // Skips any of the characters in `bytes`.
  Status Skip(std::string_view bytes);

 private:
  Status Fill();

  std::unique_ptr<ByteSource> bytes_;
  uint64_t position_ = 0;  // in the file, after the bytes read
  std::string text_;
  std::size_t begin_ = 0;
  bool last_ = false;
};

// The rows of a text file.
class TextRows : public RowSource {
 public:
  Result<bool> Next(Batch& batch) final;

 protected:
  // `quotes` as in RowBuilder.
  TextRows(std::unique_ptr<ByteSource> bytes, bool quotes, const Table& table,
           const std::string& file, ReadFaults& faults);

  // Returns the cells of the next record, one per column; empty at the end.
  virtual Result<std::span<const Cell>> NextCells() = 0;
  // Returns the next record and counts it.
  Result<std::string_view> NextRecord(RecordReader::FindEnd find_end);
  std::unexpected<Error> Malformed(std::string_view what) const;

  RecordReader reader_;
  const Table& table_;
  std::string file_;
  ReadFaults& faults_;
  uint64_t records_ = 0;

 private:
  RowBuilder builder_;
};

std::unique_ptr<RowSource> OpenJsonRows(std::unique_ptr<ByteSource> bytes, const Table& table,
                                        const std::string& file, ReadFaults& faults);
std::unique_ptr<RowSource> OpenSeparatedRows(std::unique_ptr<ByteSource> bytes, char separator,
                                             const Table& table, const std::string& file,
                                             ReadFaults& faults);

}  // namespace reveza::fraudgen::check
