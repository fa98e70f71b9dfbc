// Precomputed text of a table in a text format: separators and keys before each value, and complete
// categories and nulls, so that writing a row is mostly copying. Thread-safe: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen {

// Bytes that can be copied with a fixed size: at least kReadable bytes are readable from `data`.
struct Fragment {
  static constexpr std::size_t kReadable = 64;
  const char* data = nullptr;
  std::size_t size = 0;
};

struct TextColumn {
  std::size_t index = 0;  // in the table
  ColumnType type = ColumnType::kText;
  int places = 0;
  bool nullable = false;
  Fragment lead;  // before a value
  Fragment tail;  // after a value, if not part of the next lead
  Fragment null;  // complete text of null
  std::vector<Fragment>
      choices;  // complete texts of a category by code, or of a boolean; then null
};

class TextPlan {
 public:
  // kInvalidArgument: members of a struct are not adjacent, which JSON requires.
  static Result<TextPlan> Make(const TableOptions& options, const Table& table);

  TextPlan(TextPlan&&) = default;
  TextPlan& operator=(TextPlan&&) = default;
  TextPlan(const TextPlan&) = delete;

  const std::vector<TextColumn>& columns() const { return columns_; }
  // Text at the start of the file and at the end of each row. In a JSON array, the leading comma of
  // the first row is replaced by a bracket.
  std::string_view file_header() const { return file_header_; }
  Fragment row_tail() const { return row_tail_; }
  bool json() const { return json_; }
  bool array() const { return array_; }
  char separator() const { return separator_; }
  // Maximum size of a row without its text values.
  std::size_t max_row_bytes() const { return max_row_bytes_; }

 private:
  TextPlan() = default;

  Fragment Keep(std::string_view text);
  void AddColumn(const TableOptions& options, const Column& column, std::size_t index,
                 const std::string& lead);
  Status PlanJson(const TableOptions& options, const Table& table);
  void PlanSeparated(const TableOptions& options, const Table& table);

  std::vector<std::unique_ptr<char[]>> pages_;  // memory of the fragments
  char* page_begin_ = nullptr;
  std::size_t page_left_ = 0;
  std::vector<TextColumn> columns_;
  std::string file_header_;
  Fragment row_tail_;
  bool json_ = false;
  bool array_ = false;
  char separator_ = ',';
  std::size_t max_row_bytes_ = 0;
};

}  // namespace reveza::fraudgen
