#include "reveza/jobs/definition/shell_quotes.h"

#include <algorithm>
#include <cctype>

namespace reveza::jobs {

void ShellQuoteTracker::MarkUnquotable(std::string_view why) {
  if (unquotable_reason_.empty()) unquotable_reason_ = why;
}

void ShellQuoteTracker::Consume(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (escaped_ || skip_) {
      escaped_ = skip_ = false;
      continue;
    }
    ConsumeOne(text[i], next);
  }
}

void ShellQuoteTracker::ConsumeOne(char c, char next) {
  switch (open_.back()) {
    case Context::kComment:
      if (c == '\n') open_.pop_back();
      return;
    case Context::kSingle:
      if (c == '\'') open_.pop_back();
      return;
    case Context::kDouble:
      return ConsumeDouble(c, next);
    case Context::kBraces:
      return ConsumeBraces(c, next);
    case Context::kPlain:
    case Context::kSubstitution:
      return ConsumePlain(c, next);
  }
}

void ShellQuoteTracker::ConsumePlain(char c, char next) {
  const bool word_begins = word_.empty();
  if (std::isspace(static_cast<unsigned char>(c)) != 0 || std::string_view(";|&()<>").contains(c)) {
    // Patterns of `case` contain unbalanced closing parentheses.
    const bool inside = std::ranges::find(open_, Context::kSubstitution) != open_.end();
    if (word_ == "case" && inside) MarkUnquotable("after 'case' inside $( )");
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
    MarkUnquotable("after a backtick (use $( ) instead)");
  } else if (c == '#' && word_begins) {
    open_.push_back(Context::kComment);
  } else if (c == '<' && next == '<') {
    MarkUnquotable("after '<<'");
  } else if (c == '(') {
    open_.push_back(Context::kPlain);
  } else if (c == ')' && open_.size() > 1) {
    open_.pop_back();
  } else if (c == '$' && next == '\'') {
    MarkUnquotable("after $'...' (use '...' instead)");
  } else if (c == '$') {
    OpenExpansion(next);
  }
}

void ShellQuoteTracker::OpenExpansion(char next) {
  if (next != '(' && next != '{') return;
  open_.push_back(next == '(' ? Context::kSubstitution : Context::kBraces);
  word_.clear();
  skip_ = true;
}

void ShellQuoteTracker::ConsumeDouble(char c, char next) {
  if (c == '\\') {
    escaped_ = true;
  } else if (c == '"') {
    open_.pop_back();
  } else if (c == '`') {
    MarkUnquotable("after a backtick (use $( ) instead)");
  } else if (c == '$') {
    OpenExpansion(next);
  }
}

void ShellQuoteTracker::ConsumeBraces(char c, char next) {
  if (c == '\\') {
    escaped_ = true;
  } else if (c == '}') {
    open_.pop_back();
  } else if (c == '\'' || c == '"' || c == '`' || (c == '$' && next == '(')) {
    MarkUnquotable("after quotes inside ${...}");
  } else if (c == '$' && next == '{') {
    open_.push_back(Context::kBraces);
    skip_ = true;
  }
}

Result<char> ShellQuoteTracker::QuoteAtValue() {
  std::string_view reason = unquotable_reason_;
  if (escaped_) reason = "after a backslash";
  if (open_.back() == Context::kComment) reason = "in a comment";
  if (std::ranges::find(open_, Context::kBraces) != open_.end()) reason = "inside ${...}";
  if (!reason.empty()) {
    return InvalidArgument("a value {} cannot be quoted safely for the shell", reason);
  }
  word_ += 'x';  // a value is part of a word
  if (open_.back() == Context::kDouble) return '"';
  if (open_.back() == Context::kSingle) return '\'';
  return '\0';
}

Result<std::vector<std::string>> SplitWords(std::string_view line) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  const auto word = [&]() -> std::string& {
    if (!in_word) words.emplace_back();
    in_word = true;
    return words.back();
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\'') {
      word() += c;
    } else if (c == '\\') {
      if (++i == line.size()) {
        return InvalidArgument("trailing backslash; write '\\' for a literal one");
      }
      // Inside "..." a backslash escapes these four characters only.
      if (quote == '"' && !std::string_view("\"\\$`").contains(line[i])) word() += c;
      word() += line[i];
    } else if (quote == '"') {
      word() += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      word();
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      in_word = false;
    } else if (std::string_view("|;&<>`$").contains(c)) {
      return InvalidArgument("'{}' needs a shell; set shell = true, or quote it", c);
    } else {
      word() += c;
    }
  }
  if (quote != '\0') {
    return InvalidArgument("unterminated {}", quote);
  }
  return words;
}

}  // namespace reveza::jobs
