#include "platform/pressure.h"

#include <charconv>
#include <cstdint>
#include <sstream>
#include <string>
#include <system_error>

#include "platform/text_file.h"

namespace reveza::platform {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> ReadFile(const fs::path& path) {
  // A kernel that was started with psi=0 has the file, but does not let it be read.
  auto text = ReadText(path);
  if (text && text->empty()) text.reset();
  return text;
}

template <typename Number>
bool Take(std::string_view word, std::string_view key, Number& value) {
  if (!word.starts_with(key)) return false;
  word.remove_prefix(key.size());
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

std::optional<PressureLine> ParseLine(const std::string& line) {
  std::istringstream words(line);
  std::string kind, tens, sixties, hundreds, all;
  if (!(words >> kind >> tens >> sixties >> hundreds >> all)) return std::nullopt;
  PressureLine parsed;
  std::uint64_t total = 0;
  if (!Take(tens, "avg10=", parsed.average_10s) || !Take(sixties, "avg60=", parsed.average_60s) ||
      !Take(hundreds, "avg300=", parsed.average_300s) || !Take(all, "total=", total)) {
    return std::nullopt;
  }
  parsed.total = std::chrono::microseconds(total);
  return parsed;
}

std::optional<Pressure> ReadPressure(const fs::path& path) {
  const auto text = ReadFile(path);
  return text ? ParsePressure(*text) : std::nullopt;
}

// The line of the version 2 hierarchy is "0::<path>".
std::optional<fs::path> UnifiedGroup(pid_t pid, const fs::path& root) {
  const std::string who = pid == 0 ? "self" : std::to_string(pid);
  const auto groups = ReadFile(root / "proc" / who / "cgroup");
  if (!groups) return std::nullopt;
  std::istringstream lines(*groups);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/")) return fs::path(line.substr(3)).relative_path();
  }
  return std::nullopt;
}

}  // namespace

std::optional<Pressure> ParsePressure(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::optional<PressureLine> some;
  std::optional<PressureLine> full;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("some ")) some = ParseLine(line);
    if (line.starts_with("full ")) full = ParseLine(line);
  }
  if (!some) return std::nullopt;
  return Pressure{*some, full};
}

Pressures MachinePressure(const fs::path& root) {
  const fs::path folder = root / "proc/pressure";
  return {ReadPressure(folder / "cpu"), ReadPressure(folder / "memory"),
          ReadPressure(folder / "io")};
}

Pressures CgroupPressure(pid_t pid, const fs::path& root) {
  const auto group = UnifiedGroup(pid, root);
  if (!group || group->empty()) return {};
  const fs::path mount = root / "sys/fs/cgroup";
  std::error_code error;
  const fs::path unified = mount / "unified";
  const fs::path folder = (fs::exists(unified / "cgroup.procs", error) ? unified : mount) / *group;
  return {ReadPressure(folder / "cpu.pressure"), ReadPressure(folder / "memory.pressure"),
          ReadPressure(folder / "io.pressure")};
}

}  // namespace reveza::platform
