#include "datagen/run/settings_file.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace reveza::datagen {
namespace {

bool IsBare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string_view Trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// What is behind a value: nothing, or a comment.
bool IsEnd(std::string_view text) {
  text = Trim(text);
  return text.empty() || text.front() == '#';
}

// Words of letters, digits, _ and - with dots between them.
bool IsKey(std::string_view text) {
  bool word = false;
  for (const char c : text) {
    if (c == '.' && !word) return false;
    if (c != '.' && !IsBare(c)) return false;
    word = c != '.';
  }
  return word;
}

// A number, a date, true or false; or a string in quotes, in which \" and \\ are a character.
std::optional<std::string> ReadValue(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const char quote = text.front();
  std::string value;
  if (quote != '"' && quote != '\'') {
    const std::string_view bare = Trim(text.substr(0, text.find('#')));
    const bool number = quote == '+' || quote == '-' || (quote >= '0' && quote <= '9');
    if (!number && bare != "true" && bare != "false") return std::nullopt;
    for (const char c : bare) {
      if (!IsBare(c) && c != '.' && c != '+' && c != ':') return std::nullopt;
      if (c != '_') value += c;  // between digits: 1_000_000
    }
    return value;
  }
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote) return IsEnd(text.substr(i + 1)) ? std::optional(value) : std::nullopt;
    if (text[i] == '\\' && quote == '"') {
      ++i;
      if (i == text.size() || (text[i] != '"' && text[i] != '\\')) return std::nullopt;
    }
    value += text[i];
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<FileSetting>> ReadSettingsFile(std::string_view text, std::string_view name) {
  std::vector<FileSetting> settings;
  std::unordered_map<std::string, std::size_t> lines;  // where each key stands
  std::string section;
  // Some editors put a byte order mark in front.
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    const auto wrong = [&](const std::string& what) {
      return Fail(Error::Code::kInvalidArgument, fmt::format("{}:{}: {}", name, number, what));
    };
    if (IsEnd(line)) continue;
    if (line.front() == '[') {
      const std::size_t close = line.find(']');
      if (close == line.npos || !IsEnd(line.substr(close + 1)) ||
          !IsKey(Trim(line.substr(1, close - 1)))) {
        return wrong("not understood; a section is written [name]");
      }
      section = std::string(Trim(line.substr(1, close - 1))) + ".";
      continue;
    }
    const std::size_t equals = line.find('=');
    const std::string_view key = Trim(line.substr(0, equals));
    if (equals == line.npos || !IsKey(key)) {
      return wrong("not understood; write: key = value");
    }
    auto value = ReadValue(Trim(line.substr(equals + 1)));
    if (!value) {
      return wrong("not understood; a value is a number, true, false or text in \"quotes\"");
    }
    const std::string whole = section + std::string(key);
    if (const auto [at, added] = lines.emplace(whole, number); !added) {
      return wrong(fmt::format("line {} has {} already; leave one of them", at->second, whole));
    }
    settings.push_back({number, whole, *std::move(value)});
  }
  return settings;
}

}  // namespace reveza::datagen
