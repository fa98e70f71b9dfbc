#include "common/platform/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "common/base/error.h"
#include "common/base/parse_number.h"
#include "common/base/unique_fd.h"

namespace reveza::platform {

std::optional<std::string> ReadText(const std::filesystem::path& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file ? ReadText(file.get()) : std::nullopt;
}

std::optional<std::string> ReadText(int file) {
  // A stream would throw if a read fails, e.g. for a process that has just exited.
  std::string text;
  std::array<char, 64 * kKiB> part;
  for (;;) {
    const ssize_t got = read(file, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

int WriteKernelFile(const std::filesystem::path& path, std::string_view value) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return errno;
  const ssize_t written = write(file.get(), value.data(), value.size());
  return written == static_cast<ssize_t>(value.size()) ? 0 : errno;
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
  // Lines() would allocate, and processes are sampled by the thousand.
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.starts_with(key)) continue;
    const auto begin = line.find_first_not_of(" \t", key.size());
    if (begin == std::string_view::npos || begin == key.size()) continue;
    return ToNumber(line.substr(begin));
  }
  return std::nullopt;
}

std::optional<Bytes> KibibytesOfKey(std::string_view text, std::string_view key) {
  const auto kibibytes = NumberOfKey(text, key);
  return kibibytes ? std::optional(*kibibytes * kKiB) : std::nullopt;
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

std::string_view NextWord(std::string_view& text) {
  const auto begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  const auto end = std::min(text.find_first_of(" \t\n", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (auto word = NextWord(text); !word.empty(); word = NextWord(text)) words.push_back(word);
  return words;
}

std::optional<std::vector<unsigned>> ParseCpuList(std::string_view text) {
  constexpr std::uint64_t kMaxCpu = 65536;
  std::vector<unsigned> cpus;
  while (text.ends_with('\n') || text.ends_with(' ')) text.remove_suffix(1);
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    const auto dash = part.find('-');
    const auto first = ParseNumber<unsigned>(part.substr(0, dash));
    const auto last = dash == part.npos ? first : ParseNumber<unsigned>(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMaxCpu) return std::nullopt;
    for (unsigned cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    if (part.size() == text.size()) break;
    text.remove_prefix(part.size() + 1);
    if (text.empty()) return std::nullopt;
  }
  std::ranges::sort(cpus);
  const auto repeated = std::ranges::unique(cpus);
  cpus.erase(repeated.begin(), repeated.end());
  return cpus;
}

std::optional<unsigned> CountCpus(std::string_view text) {
  const auto cpus = ParseCpuList(text);
  if (!cpus || cpus->empty()) return std::nullopt;
  return static_cast<unsigned>(cpus->size());
}

std::filesystem::path ProcessFolder(pid_t pid, const std::filesystem::path& root) {
  return root / "proc" / (pid == 0 ? "self" : std::to_string(pid));
}

Result<std::vector<std::filesystem::path>> ListFolder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> all;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  // operator++ throws if the folder is removed meanwhile.
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    all.push_back(entry->path());
  }
  if (error) {
    return std::unexpected(SystemError("cannot read the folder " + folder.string(), error.value()));
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace reveza::platform
