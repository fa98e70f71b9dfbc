// Compares text files row by row, as texts.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fraudgen/check/differences.h"
#include "fraudgen/output/text_codec.h"

namespace reveza::fraudgen::check {
namespace {

constexpr std::size_t kMaxShownBytes = 200;  // of a whole row

// Returns what separates rows: lines, or the objects of a JSON array.
std::string_view DelimiterOf(const TableOptions& options) {
  return options.format == Format::kJson ? "\n  {" : "\n";
}

// The rows of a text, and what precedes them. Texts may be added or read in any pieces.
class Records {
 public:
  explicit Records(std::string_view delimiter) : delimiter_(delimiter) {}

  void Add(std::string_view bytes) {
    if (begin_ > 0) text_.erase(0, std::exchange(begin_, 0));
    text_ += bytes;
  }
  // Returns the next complete record without its delimiter, valid until the next call of Add().
  std::optional<std::string_view> Next() {
    const std::size_t end = text_.find(delimiter_, begin_);
    if (end == text_.npos) return std::nullopt;
    const auto record = std::string_view(text_).substr(begin_, end - begin_);
    begin_ = end + delimiter_.size();
    return record;
  }
  // Returns what remains.
  std::optional<std::string_view> Last() {
    if (begin_ == text_.size()) return std::nullopt;
    return std::string_view(text_).substr(std::exchange(begin_, text_.size()));
  }

 private:
  std::string_view delimiter_;
  std::string text_;
  std::size_t begin_ = 0;
};

// The records of a stored file.
class StoredRecords {
 public:
  StoredRecords(std::string_view delimiter, std::unique_ptr<ByteSource> bytes)
      : records_(delimiter), bytes_(std::move(bytes)) {}

  // Returns the next record, valid until the next call; nullopt at the end of the file.
  Result<std::optional<std::string_view>> Next() {
    for (;;) {
      if (const auto record = records_.Next()) return record;
      constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
      piece_.resize(kPieceBytes);
      ASSIGN_OR_RETURN(const auto got, bytes_->ReadAt(position_, piece_));
      if (got == 0) return records_.Last();
      position_ += got;
      records_.Add(std::string_view(piece_).substr(0, got));
    }
  }

 private:
  Records records_;
  std::unique_ptr<ByteSource> bytes_;
  uint64_t position_ = 0;
  std::string piece_;
};

using Values = std::vector<std::pair<std::string, std::string>>;  // by column

// Splits a line of CSV or TSV. Quotes remain, so that "" and nothing differ.
std::vector<std::string> SplitFields(std::string_view line, char separator) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == separator && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::optional<Values> ValuesOfJson(std::string_view line) {
  // In an array, the delimiter has the opening brace, and a comma or the end of the array follows.
  while (!line.empty() && std::string_view(",] \n").contains(line.back())) line.remove_suffix(1);
  std::string text(line);
  if (!text.starts_with('{')) text.insert(0, "{");
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const nlohmann::ordered_json flat = json.flatten();
  Values values;
  for (const auto& [path, value] : flat.items()) {
    if (path.empty()) return std::nullopt;  // {}
    std::string column = path.substr(1);
    std::ranges::replace(column, '/', '.');
    values.emplace_back(std::move(column),
                        value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return values;
}

std::string Shortened(std::string_view line) {
  if (line.size() <= kMaxShownBytes) return std::string(line);
  return fmt::format("{}...", line.substr(0, kMaxShownBytes));
}

// Receives the expected text and compares its lines with those of the stored file. A row that is
// missing or repeated is one difference: the rows after it are found again.
class RecordComparison final : public ByteSink {
 public:
  RecordComparison(const TableOptions& options, std::unique_ptr<ByteSource> stored,
                   FileDifferences& differences)
      : stored_(DelimiterOf(options), std::move(stored)),
        expected_(DelimiterOf(options)),
        differences_(differences),
        json_(options.format == Format::kJsonLines || options.format == Format::kJson),
        has_header_(options.format != Format::kJsonLines),
        separator_(options.format == Format::kTsv ? '\t' : ',') {
    Advance();
  }

  Status Append(std::string_view bytes) override {
    expected_.Add(bytes);
    while (const auto record = expected_.Next()) Expect(*record);
    return {};
  }

  Status Finish() override {
    if (const auto record = expected_.Last()) Expect(*record);
    if (held_) CompareHeld();
    while (found_ && !broken_) AddExtra();
    return {};
  }

 private:
  uint64_t row() const { return has_header_ ? record_ - 1 : record_; }

  void Advance() {
    const auto next = stored_.Next();
    if (!next) {
      differences_.Add({.row = 0, .column = "", .found = next.error().message, .expected = ""});
      broken_ = true;
    }
    found_ = next ? *next : std::nullopt;
    ++record_;
  }

  void Expect(std::string_view line) {
    if (broken_) return;
    if (!json_ && columns_.empty()) columns_ = SplitFields(line, separator_);
    if (held_ && found_ == line) {
      AddMissing(*std::exchange(held_, std::nullopt));
    } else if (held_) {
      CompareHeld();
    }
    while (found_ && *found_ != line && *found_ == previous_ && !broken_) AddExtra();
    if (!found_) {
      if (!broken_) AddMissing(line);
    } else if (*found_ == line) {
      Advance();
    } else {
      held_.emplace(line);
    }
    previous_ = line;
  }

  void AddMissing(std::string_view line) {
    differences_.Add({.row = row(), .column = "", .found = "", .expected = Shortened(line)});
  }
  void AddExtra() {
    differences_.Add({.row = row(),
                      .column = "",
                      .found = fmt::format("one too many: {}", Shortened(*found_)),
                      .expected = ""});
    Advance();
  }

  // Compares the line that was held back until the next one was known.
  void CompareHeld() {
    const std::string expected = *std::exchange(held_, std::nullopt);
    const auto left = ValuesOf(*found_);
    const auto right = ValuesOf(expected);
    const uint64_t before = differences_.count;
    if (left && right) CompareValues(*left, *right);
    if (differences_.count == before) {
      differences_.Add({.row = row(),
                        .column = "",
                        .found = Shortened(*found_),
                        .expected = Shortened(expected)});
    }
    Advance();
  }

  std::optional<Values> ValuesOf(std::string_view line) const {
    if (json_) return ValuesOfJson(line);
    auto fields = SplitFields(line, separator_);
    if (fields.size() != columns_.size()) return std::nullopt;
    Values values;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      values.emplace_back(columns_[i], std::move(fields[i]));
    }
    return values;
  }

  void CompareValues(const Values& found, const Values& expected) {
    const auto value_of = [](const Values& values, const std::string& column) {
      const auto at = std::ranges::find(values, column, &Values::value_type::first);
      return at == values.end() ? std::string() : at->second.empty() ? "null" : at->second;
    };
    for (const auto& [column, value] : expected) {
      const std::string there = value_of(found, column);
      const std::string here = value_of(expected, column);
      if (there != here) differences_.Add({row(), column, there, here});
    }
    for (const auto& [column, value] : found) {
      if (value_of(expected, column).empty()) differences_.Add({row(), column, value, ""});
    }
  }

  StoredRecords stored_;
  Records expected_;
  FileDifferences& differences_;
  const bool json_;
  const bool has_header_;  // the first record is no row
  const char separator_;
  std::vector<std::string> columns_;  // of CSV and TSV
  std::optional<std::string_view> found_;
  uint64_t record_ = 0;  // number of `found_`, from 1
  std::optional<std::string> held_;
  std::string previous_;
  bool broken_ = false;
};

class TextComparison final : public TableWriter {
 public:
  TextComparison(const TableOptions& options, std::unique_ptr<ByteSource> stored,
                 FileDifferences& differences)
      : records_(options, std::move(stored), differences) {}

  Status Open(const TableOptions& options, const Table& table) {
    TableOptions plain = options;
    plain.text_codec = Codec::kNone;
    ASSIGN_OR_RETURN(writer_, MakeTableWriter(plain, table, records_));
    return {};
  }
  Status Write(const Batch& batch) override { return writer_->Write(batch); }
  Status Finish() override {
    RETURN_IF_ERROR(writer_->Finish());
    return records_.Finish();
  }

 private:
  RecordComparison records_;
  std::unique_ptr<TableWriter> writer_;
};

}  // namespace

Result<std::unique_ptr<TableWriter>> CompareTextRows(const TableOptions& options,
                                                     const Table& table,
                                                     std::unique_ptr<ByteSource> stored,
                                                     FileDifferences& differences) {
  if (options.text_codec != Codec::kNone) {
    ASSIGN_OR_RETURN(stored, OpenCompressed(options.text_codec, std::move(stored)));
  }
  auto comparison = std::make_unique<TextComparison>(options, std::move(stored), differences);
  RETURN_IF_ERROR(comparison->Open(options, table));
  return comparison;
}

}  // namespace reveza::fraudgen::check
