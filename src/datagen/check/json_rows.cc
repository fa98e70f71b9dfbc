#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "datagen/check/cells.h"
#include "datagen/check/record_reader.h"
#include "datagen/check/text_rows.h"

namespace reveza::datagen::check {
namespace {

constexpr std::size_t kNotYet = std::string_view::npos;
constexpr std::string_view kBlanks = " \t\r\n";

// The end of an object that begins the text.
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
      return 1;  // no object: who parses it will say so
    }
  }
  return kNotYet;
}

void AppendUtf8(std::string& text, uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// Reads one object into cells, member by member of members.
class ObjectParser {
 public:
  explicit ObjectParser(const Table& table) : cells_(table.columns.size()) {
    for (std::size_t i = 0; i < table.columns.size(); ++i) indexes_[table.columns[i].name] = i;
  }

  // False where it is no JSON of the kind that we write. Members that the table does not have are
  // in unknown().
  bool Parse(std::string_view text) {
    text_ = text;
    at_ = 0;
    unknown_.clear();
    for (Cell& cell : cells_) cell = {};
    scratch_.clear();
    scratch_.reserve(text.size());  // so that views into it stay
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
      if (cells_[found->second].kind != Cell::Kind::kMissing) return false;  // twice
      cells_[found->second] = cell;
    }
    return true;
  }

  bool ParseString(std::string_view& value) {
    if (!Take('"')) return false;
    const std::size_t end = text_.find_first_of("\"\\", at_);
    if (end == kNotYet) return false;
    if (text_[end] == '"') {
      value = text_.substr(at_, end - at_);
      at_ = end + 1;
      return true;
    }
    const std::size_t begin = scratch_.size();
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        scratch_ += text_[at_++];
      } else if (!ParseEscape()) {
        return false;
      }
    }
    value = std::string_view(scratch_).substr(begin);
    return at_++ < text_.size();
  }

  bool ParseEscape() {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (at_ + 1 >= text_.size()) return false;
    const char letter = text_[at_ + 1];
    at_ += 2;
    if (const std::size_t which = kLetters.find(letter); which != kNotYet) {
      scratch_ += kMeanings[which];
      return true;
    }
    if (letter != 'u' || at_ + 4 > text_.size()) return false;
    uint32_t code = 0;
    for (const char c : text_.substr(at_, 4)) {
      const std::size_t digit =
          std::string_view("0123456789abcdef").find(static_cast<char>(c | 32));
      if (digit == kNotYet) return false;
      code = code * 16 + static_cast<uint32_t>(digit);
    }
    at_ += 4;
    AppendUtf8(scratch_, code);
    return true;
  }

  std::map<std::string_view, std::size_t> indexes_;
  std::vector<Cell> cells_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::string scratch_;
  std::string unknown_;
};

class JsonRows final : public RowSource {
 public:
  JsonRows(RecordReader reader, const Table& table, const std::string& file, ReadFaults& faults)
      : reader_(std::move(reader)),
        file_(file),
        faults_(faults),
        parser_(table),
        builder_(table, /*quotes=*/true, file, faults) {}

  Result<bool> Next(Batch& batch) override {
    builder_.Begin(batch);
    while (!builder_.full()) {
      // What stands between the records of an array says nothing.
      if (auto skipped = reader_.Skip(" \t\r\n,[]"); !skipped) return Wrong(skipped.error());
      const auto record = reader_.Next(EndOfObject);
      if (!record) return Wrong(record.error());
      if (record->empty()) break;
      ++records_;
      if (!parser_.Parse(*record)) {
        return Fail(Error::Code::kInvalidArgument,
                    fmt::format("{}: record {} is no JSON object", file_, records_));
      }
      if (!parser_.unknown().empty()) {
        faults_.columns.Bad({.file = file_}, records_ - 1,
                            [&] { return parser_.unknown() + " is not known"; });
      }
      builder_.Add(parser_.cells());
    }
    builder_.End();
    return builder_.rows() > 0;
  }

 private:
  std::unexpected<Error> Wrong(const Error& error) const {
    return Fail(error.code, fmt::format("{}: {}", file_, error.message));
  }

  RecordReader reader_;
  std::string file_;
  ReadFaults& faults_;
  ObjectParser parser_;
  RowBuilder builder_;
  uint64_t records_ = 0;
};

}  // namespace

Result<std::unique_ptr<RowSource>> OpenJsonRows(std::unique_ptr<ByteSource> bytes,
                                                const Table& table, const std::string& file,
                                                ReadFaults& faults) {
  return std::make_unique<JsonRows>(RecordReader(std::move(bytes)), table, file, faults);
}

}  // namespace reveza::datagen::check
