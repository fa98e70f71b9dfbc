#include "platform/text_file.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <system_error>

namespace reveza::platform {

std::optional<std::string> ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) return std::nullopt;
  return text;
}

std::optional<std::uint64_t> ToNumber(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ReadNumber(const std::filesystem::path& path) {
  const auto text = ReadText(path);
  return text ? ToNumber(*text) : std::nullopt;
}

std::optional<std::uint64_t> NumberOfKey(std::string_view text, std::string_view key) {
  for (const std::string_view line : Lines(text)) {
    if (!line.starts_with(key)) continue;
    const auto begin = line.find_first_not_of(" \t", key.size());
    if (begin == std::string_view::npos || begin == key.size()) continue;
    return ToNumber(line.substr(begin));
  }
  return std::nullopt;
}

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; (begin = text.find_first_not_of(" \t\n", begin)) != text.npos;) {
    const auto end = std::min(text.find_first_of(" \t\n", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::filesystem::path ProcessFolder(pid_t pid, const std::filesystem::path& root) {
  return root / "proc" / (pid == 0 ? "self" : std::to_string(pid));
}

}  // namespace reveza::platform
