#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "datagen/check/cells.h"
#include "datagen/check/record_reader.h"
#include "datagen/check/text_rows.h"

namespace reveza::datagen::check {
namespace {

constexpr std::size_t kNoColumn = std::numeric_limits<std::size_t>::max();

// After the end of line that no quotes enclose. Two quotes in a row change nothing about that.
std::size_t EndOfLine(std::string_view text, bool last) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '\n' && !quoted) return i + 1;
  }
  return last && !quoted ? text.size() : std::string_view::npos;
}

// The fields of a record, its end of line included or not. An empty one without quotes is a null.
class FieldParser {
 public:
  explicit FieldParser(char separator) : separator_(separator) {}

  bool Parse(std::string_view record) {
    fields_.clear();
    scratch_.clear();
    scratch_.reserve(record.size());  // so that views into it stay
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

class SeparatedRows final : public RowSource {
 public:
  SeparatedRows(RecordReader reader, char separator, const Table& table, const std::string& file,
                ReadFaults& faults)
      : reader_(std::move(reader)),
        table_(table),
        file_(file),
        faults_(faults),
        parser_(separator),
        builder_(table, /*quotes=*/false, file, faults),
        cells_(table.columns.size()) {}

  Result<bool> Next(Batch& batch) override {
    if (!std::exchange(begun_, true)) {
      if (auto head = ReadHead(); !head) return std::unexpected(std::move(head).error());
    }
    builder_.Begin(batch);
    while (!builder_.full()) {
      const auto record = reader_.Next(EndOfLine);
      if (!record) return Wrong(record.error().message);
      if (record->empty()) break;
      ++records_;
      if (!parser_.Parse(*record)) return Wrong(fmt::format("record {} is torn", records_));
      if (parser_.fields().size() != columns_.size()) {
        return Wrong(fmt::format("record {} has {} fields, the head {}", records_,
                                 parser_.fields().size(), columns_.size()));
      }
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[i] != kNoColumn) cells_[columns_[i]] = parser_.fields()[i];
      }
      builder_.Add(cells_);
    }
    builder_.End();
    return builder_.rows() > 0;
  }

 private:
  // Which column each field is of; both kinds of names and any order will do.
  Status ReadHead() {
    const auto record = reader_.Next(EndOfLine);
    if (!record) return Wrong(record.error().message);
    if (record->empty() || !parser_.Parse(*record)) return Wrong("has no head");
    for (const Cell& name : parser_.fields()) {
      const auto found = std::ranges::find_if(table_.columns, [&](const Column& column) {
        return column.name == name.text || FlatName(column) == name.text;
      });
      if (found == table_.columns.end()) {
        faults_.columns.Bad(fmt::format("{}: {} is not known", file_, name.text));
        columns_.push_back(kNoColumn);
      } else {
        columns_.push_back(static_cast<std::size_t>(found - table_.columns.begin()));
      }
    }
    return {};
  }
  std::unexpected<Error> Wrong(std::string_view what) const {
    return Fail(Error::Code::kInvalidArgument, fmt::format("{}: {}", file_, what));
  }

  RecordReader reader_;
  const Table& table_;
  std::string file_;
  ReadFaults& faults_;
  FieldParser parser_;
  RowBuilder builder_;
  std::vector<Cell> cells_;
  std::vector<std::size_t> columns_;
  bool begun_ = false;
  uint64_t records_ = 0;
};

}  // namespace

Result<std::unique_ptr<RowSource>> OpenSeparatedRows(std::unique_ptr<ByteSource> bytes,
                                                     char separator, const Table& table,
                                                     const std::string& file, ReadFaults& faults) {
  return std::make_unique<SeparatedRows>(RecordReader(std::move(bytes)), separator, table, file,
                                         faults);
}

}  // namespace reveza::datagen::check
