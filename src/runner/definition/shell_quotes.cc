#include "runner/definition/shell_quotes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace reveza::runner {

void ShellQuotes::Doubt(std::string_view why) {
  if (doubt_.empty()) doubt_ = why;
}

void ShellQuotes::Read(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (escaped_ || skip_) {
      escaped_ = skip_ = false;
      continue;
    }
    ReadOne(text[i], next);
  }
}

void ShellQuotes::ReadOne(char c, char next) {
  switch (open_.back()) {
    case Context::kComment:
      if (c == '\n') open_.pop_back();
      return;
    case Context::kSingle:
      if (c == '\'') open_.pop_back();
      return;
    case Context::kDouble:
      return ReadDouble(c, next);
    case Context::kBraces:
      return ReadBraces(c, next);
    case Context::kPlain:
    case Context::kSubstitution:
      return ReadPlain(c, next);
  }
}

void ShellQuotes::ReadPlain(char c, char next) {
  const bool word_begins = word_.empty();
  if (std::isspace(static_cast<unsigned char>(c)) != 0 || std::string_view(";|&()<>").contains(c)) {
    // The patterns of `case` close parentheses that nobody opened.
    const bool inside = std::ranges::find(open_, Context::kSubstitution) != open_.end();
    if (word_ == "case" && inside) Doubt("behind 'case' within $( )");
    word_.clear();
  } else {
    word_ += c;
  }
  if (c == '\\') {
    escaped_ = true;
  } else if (c == '\'') {
    open_.push_back(Context::kSingle);
  } else if (c == '"') {
    open_.push_back(Context::kDouble);
  } else if (c == '`') {
    Doubt("behind a backtick; write $( ) instead");
  } else if (c == '#' && word_begins) {
    open_.push_back(Context::kComment);
  } else if (c == '<' && next == '<') {
    Doubt("behind '<<'");
  } else if (c == '(') {
    open_.push_back(Context::kPlain);
  } else if (c == ')' && open_.size() > 1) {
    open_.pop_back();
  } else if (c == '$' && next == '\'') {
    Doubt("behind $'...'; write '...' instead");
  } else if (c == '$' && (next == '(' || next == '{')) {
    open_.push_back(next == '(' ? Context::kSubstitution : Context::kBraces);
    word_.clear();
    skip_ = true;
  }
}

void ShellQuotes::ReadDouble(char c, char next) {
  if (c == '\\') {
    escaped_ = true;
  } else if (c == '"') {
    open_.pop_back();
  } else if (c == '`') {
    Doubt("behind a backtick; write $( ) instead");
  } else if (c == '$' && (next == '(' || next == '{')) {
    open_.push_back(next == '(' ? Context::kSubstitution : Context::kBraces);
    word_.clear();
    skip_ = true;
  }
}

void ShellQuotes::ReadBraces(char c, char next) {
  if (c == '\\') {
    escaped_ = true;
  } else if (c == '}') {
    open_.pop_back();
  } else if (c == '\'' || c == '"' || c == '`' || (c == '$' && next == '(')) {
    Doubt("behind quotes within ${...}");
  } else if (c == '$' && next == '{') {
    open_.push_back(Context::kBraces);
    skip_ = true;
  }
}

Result<char> ShellQuotes::AtValue() {
  std::string_view doubt = doubt_;
  if (escaped_) doubt = "behind a backslash";
  if (open_.back() == Context::kComment) doubt = "in a comment";
  if (std::ranges::find(open_, Context::kBraces) != open_.end()) doubt = "within ${...}";
  if (!doubt.empty()) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("a value {} cannot be quoted for the shell with certainty", doubt));
  }
  word_ += 'x';  // a value is part of a word
  if (open_.back() == Context::kDouble) return '"';
  if (open_.back() == Context::kSingle) return '\'';
  return '\0';
}

}  // namespace reveza::runner
