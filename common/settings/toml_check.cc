#include "common/settings/toml_check.h"

#include <algorithm>
#include <string>

namespace reveza {
namespace {

constexpr char kHeader = 'h';

bool IsAscii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool IsQuote(char c) { return c == '"' || c == '\''; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<SourceLocation> Scan() {
    while (at_ < text_.size()) {
      const bool valid = end_.empty() ? ScanPlain() : ScanQuoted();
      if (!valid) return location_;
    }
    return std::nullopt;
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  bool Skip(std::size_t length) {
    for (; length > 0 && at_ < text_.size(); --length, ++at_) {
      if (text_[at_] == '\n') {
        location_ = {.line = location_.line + 1, .column = 1};
      } else if ((static_cast<unsigned char>(text_[at_]) & 0xC0) != 0x80) {
        ++location_.column;  // do not count UTF-8 continuation bytes
      }
    }
    return true;
  }

  // Returns whether a string that begins here is a key or part of one.
  bool InKey() const {
    if (open_.ends_with(kHeader)) return true;
    return !equals_ && !open_.ends_with('[');
  }

  // Scans outside strings and comments; false: unexpected character.
  bool ScanPlain() {
    const char c = text_[at_];
    if (!IsAscii(c)) return false;
    if (c == ' ' || c == '\t' || c == '\r') return Skip(1);
    const bool begins = std::string_view("=[,{\n").contains(before_);
    if ((IsQuote(c) || c == '[' || c == '{') && !begins) return false;
    if (c == '=' && (equals_ || open_.ends_with('[') || open_.ends_with(kHeader))) return false;
    const bool is_long = IsQuote(c) && rest().starts_with(std::string(3, c));
    if (is_long && InKey()) return false;
    if (c == '[' && (open_.empty() ? before_ == '\n' : open_.ends_with(kHeader))) {
      open_ += kHeader;
    } else if (c == '[' || c == '{') {
      open_ += c;
    }
    before_ = c;
    if (c == '=') equals_ = true;
    if (c == ',' || c == '{' || c == '\n') equals_ = false;
    if ((c == ']' || c == '}') && !open_.empty()) open_.pop_back();
    if (c == '#') end_ = "\n";
    if (!IsQuote(c)) return Skip(1);
    end_ = rest().substr(0, is_long ? 3 : 1);
    return Skip(end_.size());
  }

  bool ScanQuoted() {
    const char c = text_[at_];
    if (c == '\n' && end_.size() < 3) {
      end_ = {};  // end of a comment or of an unterminated string
      return true;
    }
    if (c == '\\' && end_.starts_with('"')) {
      if (rest().size() > 1 && !IsAscii(rest()[1])) return false;  // not an escape sequence
      return Skip(rest().size() > 1 && rest()[1] != '\n' ? 2 : 1);
    }
    if (end_ == "\n" || !rest().starts_with(end_)) return Skip(1);
    std::size_t length = end_.size();
    // Up to two quotes may precede the closing ones of a multi-line string.
    while (end_.size() == 3 && length < 5 && rest().size() > length && rest()[length] == c) {
      ++length;
    }
    end_ = {};
    return Skip(length);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  SourceLocation location_;
  std::string_view end_;  // terminator of the open string or comment
  char before_ = '\n';    // last non-blank character outside strings
  bool equals_ = false;   // the current key already has its =
  std::string open_;      // open brackets: { table, [ array, kHeader [table] or [[table]]
};

}  // namespace

std::optional<SourceLocation> FindUnsupportedToml(std::string_view text) {
  return Scanner(text).Scan();
}

}  // namespace reveza
