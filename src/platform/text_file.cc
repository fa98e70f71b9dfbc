#include "platform/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "base/bytes.h"
#include "base/unique_fd.h"

namespace reveza::platform {

std::optional<std::string> ReadText(const std::filesystem::path& path) {
  // No stream: a read that fails, as of a process that has just ended, makes it throw.
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  std::array<char, 4 * kKiB> part;
  for (;;) {
    const ssize_t got = read(file.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
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
