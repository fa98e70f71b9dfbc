// How each column of a table is written in a text format, made once: what stands before a value,
// and the categories and nulls whole, so that writing a row is copying. Immutable, so safe from any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "datagen/output/table_writer.h"
#include "datagen/schema.h"

namespace reveza::datagen {

// Bytes behind which so many may be read that a copy of a fixed size will do: kReadable from their
// begin, or their size if that is more.
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
  Fragment lead;                  // stands before a value
  Fragment tail;                  // and after it, where that is not the next one's lead
  Fragment null;                  // all of a null
  std::vector<Fragment> choices;  // all of a kCategory by code, or of a kBoolean; then the null
};

class TextPlan {
 public:
  // An error where the table's members do not stand side by side, which JSON needs.
  static Result<TextPlan> Make(const TableOptions& options, const Table& table);

  TextPlan(TextPlan&&) = default;
  TextPlan& operator=(TextPlan&&) = default;
  TextPlan(const TextPlan&) = delete;

  const std::vector<TextColumn>& columns() const { return columns_; }
  // What stands at the begin of a file, at the end of each row and of the file. In a JSON array the
  // first byte of each row, a comma, is a bracket in the first one.
  std::string_view file_head() const { return file_head_; }
  Fragment row_tail() const { return row_tail_; }
  bool json() const { return json_; }
  bool array() const { return array_; }
  char separator() const { return separator_; }
  // What a row needs at most, without its texts.
  std::size_t most_row_bytes() const { return most_row_bytes_; }

 private:
  TextPlan() = default;

  Fragment Keep(std::string_view text);
  void AddColumn(const TableOptions& options, const Column& column, std::size_t index,
                 const std::string& lead);
  Status PlanJson(const TableOptions& options, const Table& table);
  void PlanSeparated(const TableOptions& options, const Table& table);

  std::vector<std::unique_ptr<char[]>> pages_;  // what fragments point at, side by side
  char* page_begin_ = nullptr;
  std::size_t page_left_ = 0;
  std::vector<TextColumn> columns_;
  std::string file_head_;
  Fragment row_tail_;
  bool json_ = false;
  bool array_ = false;
  char separator_ = ',';
  std::size_t most_row_bytes_ = 0;
};

}  // namespace reveza::datagen
