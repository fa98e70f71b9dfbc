#include "runner/definition/toml_check.h"

#include <algorithm>
#include <string>

namespace reveza::runner {
namespace {

constexpr char kHeader = 'h';

bool IsAscii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool IsQuote(char c) { return c == '"' || c == '\''; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<Place> Scan() {
    while (at_ < text_.size()) {
      const bool fine = end_.empty() ? Plain() : Quoted();
      if (!fine) return place_;
    }
    return std::nullopt;
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  bool Skip(std::size_t length) {
    for (; length > 0 && at_ < text_.size(); --length, ++at_) {
      if (text_[at_] == '\n') {
        place_ = {.line = place_.line + 1, .column = 1};
      } else if ((static_cast<unsigned char>(text_[at_]) & 0xC0) != 0x80) {
        ++place_.column;  // the further bytes of a character are not counted
      }
    }
    return true;
  }

  // Whether a text that begins here is a key, or a part of one.
  bool InKey() const {
    if (open_.ends_with(kHeader)) return true;
    return !equals_ && !open_.ends_with('[');
  }

  // Outside of texts and comments. False: this cannot be here.
  bool Plain() {
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

  bool Quoted() {
    const char c = text_[at_];
    if (c == '\n' && end_.size() < 3) {
      end_ = {};  // a comment ends, or a text that nobody closed
      return true;
    }
    if (c == '\\' && end_.starts_with('"')) {
      if (rest().size() > 1 && !IsAscii(rest()[1])) return false;  // no escape sequence
      return Skip(rest().size() > 1 && rest()[1] != '\n' ? 2 : 1);
    }
    if (end_ == "\n" || !rest().starts_with(end_)) return Skip(1);
    std::size_t length = end_.size();
    // Two more quotes may stand before those that end a long text.
    while (end_.size() == 3 && length < 5 && rest().size() > length && rest()[length] == c) {
      ++length;
    }
    end_ = {};
    return Skip(length);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Place place_;
  std::string_view end_;  // of what is open: its quotes; of a comment: the end of the line
  char before_ = '\n';    // the last character of no text that is no blank
  bool equals_ = false;   // the key has its = already
  std::string open_;      // brackets: { of a table, [ of a list, kHeader of [table] and [[table]]
};

}  // namespace

std::optional<Place> StrangePlace(std::string_view text) { return Scanner(text).Scan(); }

}  // namespace reveza::runner
