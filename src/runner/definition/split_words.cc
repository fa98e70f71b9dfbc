#include "runner/definition/split_words.h"

#include <fmt/format.h>

namespace reveza::runner {

Result<std::vector<std::string>> SplitWords(std::string_view line) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  const auto part = [&]() -> std::string& {
    if (!in_word) words.emplace_back();
    in_word = true;
    return words.back();
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '\'') {
      if (c == quote) {
        quote = '\0';
      } else {
        part() += c;
      }
    } else if (c == '\\') {
      if (++i == line.size()) {
        return Fail(Error::Code::kInvalidArgument, "a backslash at the end; write '\\' for itself");
      }
      // Within "..." it takes the meaning of four characters only.
      if (quote == '"' && !std::string_view("\"\\$`").contains(line[i])) part() += c;
      part() += line[i];
    } else if (quote == '"') {
      if (c == quote) {
        quote = '\0';
      } else {
        part() += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      part();
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      in_word = false;
    } else if (std::string_view("|;&<>`$").contains(c)) {
      return Fail(Error::Code::kInvalidArgument,
                  fmt::format("'{}' means nothing without a shell; write shell = true, or '{}' in "
                              "quotes",
                              c, c));
    } else {
      part() += c;
    }
  }
  if (quote != '\0') {
    return Fail(Error::Code::kInvalidArgument, fmt::format("a {} that is not closed", quote));
  }
  return words;
}

}  // namespace reveza::runner
