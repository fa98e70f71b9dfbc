#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "fraudgen/check/text_rows.h"

namespace reveza::fraudgen::check {
namespace {

constexpr std::size_t kNoColumn = std::numeric_limits<std::size_t>::max();

// Returns the position after the first unquoted end of line. Escaped quotes (two in a row) cancel
// out.
std::size_t EndOfLine(std::string_view text, bool last) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '\n' && !quoted) return i + 1;
  }
  return last && !quoted ? text.size() : std::string_view::npos;
}

// Parses the fields of a record. Unquoted empty fields are nulls.
class FieldParser {
 public:
  explicit FieldParser(char separator) : separator_(separator) {}

  bool Parse(std::string_view record) {
    fields_.clear();
    scratch_.clear();
    scratch_.reserve(record.size());  // keeps views valid
    if (record.ends_with('\n')) record.remove_suffix(1);
    if (record.ends_with('\r')) record.remove_suffix(1);
    std::size_t at = 0;
    while (true) {
      if (at < record.size() && record[at] == '"') {
        if (!ParseQuoted(record, at)) return false;
      } else {
        const std::size_t end = std::min(record.find(separator_, at), record.size());
        const std::string_view text = record.substr(at, end - at);
        fields_.push_back({text.empty() ? Cell::Kind::kNull : Cell::Kind::kBare, text});
        at = end;
      }
      if (at == record.size()) return true;
      ++at;  // the separator
    }
  }
  std::span<const Cell> fields() const { return fields_; }

 private:
  bool ParseQuoted(std::string_view record, std::size_t& at) {
    const std::size_t begin = scratch_.size();
    for (++at; at < record.size(); ++at) {
      if (record[at] == '"' && !record.substr(at).starts_with("\"\"")) break;
      if (record[at] == '"') ++at;
      scratch_ += record[at];
    }
    if (at == record.size()) return false;
    ++at;
    fields_.push_back({Cell::Kind::kText, std::string_view(scratch_).substr(begin)});
    return at == record.size() || record[at] == separator_;
  }

  char separator_;
  std::vector<Cell> fields_;
  std::string scratch_;
};

class SeparatedRows final : public TextRows {
 public:
  SeparatedRows(std::unique_ptr<ByteSource> bytes, char separator, const Table& table,
                const std::string& file, ReadFaults& faults)
      : TextRows(std::move(bytes), /*quotes=*/false, table, file, faults),
        parser_(separator),
        cells_(table.columns.size()) {}

 private:
  Result<std::span<const Cell>> NextCells() override {
    if (!std::exchange(begun_, true)) RETURN_IF_ERROR(ReadHeader());
    ASSIGN_OR_RETURN(const auto record, NextRecord(EndOfLine));
    if (record.empty()) return std::span<const Cell>();
    if (!parser_.Parse(record)) return Malformed(fmt::format("record {} is malformed", records_));
    if (parser_.fields().size() != columns_.size()) {
      return Malformed(fmt::format("record {} has {} fields, {} in the header", records_,
                                   parser_.fields().size(), columns_.size()));
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] != kNoColumn) cells_[columns_[i]] = parser_.fields()[i];
    }
    return cells_;
  }

  // Maps fields to columns. Accepts nested and flat names in any order.
  Status ReadHeader() {
    ASSIGN_OR_RETURN(const auto record, NextRecord(EndOfLine));
    if (record.empty() || !parser_.Parse(record)) return Malformed("has no header");
    records_ = 0;
    for (const Cell& name : parser_.fields()) {
      const auto found = std::ranges::find_if(table_.columns, [&](const Column& column) {
        return column.name == name.text || FlatName(column) == name.text;
      });
      if (found == table_.columns.end()) {
        faults_.columns.AddFailure("{}: {} is unknown", file_, name.text);
        columns_.push_back(kNoColumn);
      } else {
        columns_.push_back(static_cast<std::size_t>(found - table_.columns.begin()));
      }
    }
    return {};
  }

  FieldParser parser_;
  std::vector<Cell> cells_;
  std::vector<std::size_t> columns_;  // by field
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<RowSource> OpenSeparatedRows(std::unique_ptr<ByteSource> bytes, char separator,
                                             const Table& table, const std::string& file,
                                             ReadFaults& faults) {
  return std::make_unique<SeparatedRows>(std::move(bytes), separator, table, file, faults);
}

}  // namespace reveza::fraudgen::check
