#include <fmt/format.h>

#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "fraudgen/check/text_rows.h"

namespace reveza::fraudgen::check {
namespace {

constexpr std::size_t kNotYet = std::string_view::npos;
constexpr std::string_view kBlanks = " \t\r\n";

// Returns the end of the object at the start of `text`.
std::size_t EndOfObject(std::string_view text, bool) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    } else if (depth <= 0) {
      return 1;  // not an object: the parser reports it
    }
  }
  return kNotYet;
}

// Parses one object, with nested objects, into cells.
class ObjectParser {
 public:
  explicit ObjectParser(const Table& table) : cells_(table.columns.size()) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) indexes_[table.columns[i].name] = i;
  }

  // Returns false for malformed or unsupported JSON. unknown() is a member that the table lacks.
  bool Parse(std::string_view text) {
    text_ = text;
    at_ = 0;
    unknown_.clear();
    for (Cell& cell : cells_) cell = {};
    unescaped_.clear();
    std::string path;
    return ParseObject(path) && at_ == text_.size();
  }
  std::span<const Cell> cells() const { return cells_; }
  const std::string& unknown() const { return unknown_; }

 private:
  bool Take(char c) {
    while (at_ < text_.size() && kBlanks.find(text_[at_]) != kNotYet) ++at_;
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool ParseObject(std::string& path) {
    if (!Take('{')) return false;
    if (Take('}')) return true;
    do {
      std::string_view key;
      if (!ParseString(key) || !Take(':')) return false;
      const std::size_t before = path.size();
      path += key;
      if (!ParseValue(path)) return false;
      path.resize(before);
    } while (Take(','));
    return Take('}');
  }

  bool ParseValue(std::string& path) {
    Cell cell;
    if (Take('"')) {
      --at_;
      cell.kind = Cell::Kind::kText;
      if (!ParseString(cell.text)) return false;
    } else if (at_ < text_.size() && text_[at_] == '{') {
      path += '.';
      return ParseObject(path);
    } else {
      const std::size_t end = std::min(text_.find_first_of(",} \t\r\n", at_), text_.size());
      cell.text = text_.substr(at_, end - at_);
      cell.kind = cell.text == "null" ? Cell::Kind::kNull : Cell::Kind::kBare;
      if (cell.text.empty()) return false;
      at_ = end;
    }
    const auto found = indexes_.find(path);
    if (found == indexes_.end()) {
      unknown_ = path;
    } else {
      if (cells_[found->second].kind != Cell::Kind::kMissing) return false;  // duplicate
      cells_[found->second] = cell;
    }
    return true;
  }

  bool ParseString(std::string_view& value) {
    if (!Take('"')) return false;
    const std::size_t begin = at_;
    at_ = text_.find_first_of("\"\\", at_);
    const bool escaped = at_ != kNotYet && text_[at_] == '\\';
    while (at_ != kNotYet && text_[at_] == '\\') at_ = text_.find_first_of("\"\\", at_ + 2);
    if (at_ == kNotYet) return false;
    value = text_.substr(begin, at_++ - begin);
    if (!escaped) return true;
    const auto parsed = nlohmann::json::parse(text_.substr(begin - 1, at_ - begin + 1), nullptr,
                                              /*allow_exceptions=*/false);
    if (!parsed.is_string()) return false;
    value = unescaped_.emplace_back(parsed.get<std::string>());
    return true;
  }

  std::map<std::string_view, std::size_t> indexes_;
  std::vector<Cell> cells_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::deque<std::string> unescaped_;  // texts that had escapes
  std::string unknown_;
};

class JsonRows final : public TextRows {
 public:
  JsonRows(std::unique_ptr<ByteSource> bytes, const Table& table, const std::string& file,
           ReadFaults& faults)
      : TextRows(std::move(bytes), /*quotes=*/true, table, file, faults), parser_(table) {}

 private:
  Result<std::span<const Cell>> NextCells() override {
    // Array punctuation is ignored.
    if (auto skipped = reader_.Skip(" \t\r\n,[]"); !skipped) {
      return Malformed(skipped.error().message);
    }
    ASSIGN_OR_RETURN(const auto record, NextRecord(EndOfObject));
    if (record.empty()) return std::span<const Cell>();
    if (!parser_.Parse(record)) {
      return Malformed(fmt::format("record {} is not a JSON object", records_));
    }
    if (!parser_.unknown().empty()) {
      faults_.columns.AddFailure({.file = file_}, records_ - 1,
                                 [&] { return parser_.unknown() + " is unknown"; });
    }
    return parser_.cells();
  }

  ObjectParser parser_;
};

}  // namespace

std::unique_ptr<RowSource> OpenJsonRows(std::unique_ptr<ByteSource> bytes, const Table& table,
                                        const std::string& file, ReadFaults& faults) {
  return std::make_unique<JsonRows>(std::move(bytes), table, file, faults);
}

}  // namespace reveza::fraudgen::check
