#include "common/platform/pressure.h"

#include <cstdint>

#include "common/base/parse_number.h"
#include "common/platform/cgroup.h"
#include "common/platform/text_file.h"

namespace reveza::platform {
namespace {

namespace fs = std::filesystem;

template <typename Number>
bool Take(std::string_view word, std::string_view key, Number& value) {
  if (!word.starts_with(key)) return false;
  const auto number = ParseNumber<Number>(word.substr(key.size()));
  value = number.value_or(0);
  return number.has_value();
}

std::optional<PressureLine> ParseLine(std::string_view line) {
  const auto words = Words(line);
  PressureLine parsed;
  std::uint64_t total = 0;
  if (words.size() < 5 || !Take(words[1], "avg10=", parsed.average_10s) ||
      !Take(words[2], "avg60=", parsed.average_60s) ||
      !Take(words[3], "avg300=", parsed.average_300s) || !Take(words[4], "total=", total)) {
    return std::nullopt;
  }
  parsed.total = std::chrono::microseconds(total);
  return parsed;
}

// With the kernel parameter psi=0 the file exists, but reads fail.
std::optional<Pressure> ReadPressure(const fs::path& path) {
  return ParsePressure(ReadText(path).value_or(""));
}

}  // namespace

std::optional<Pressure> ParsePressure(std::string_view text) {
  std::optional<PressureLine> some;
  std::optional<PressureLine> full;
  for (const std::string_view line : Lines(text)) {
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
  // No version 1 hierarchy has this name, so that this is the group of version 2.
  const auto place = FindCgroup("pressure", pid, root);
  if (!place || place->version != 2 || place->group.empty()) return {};
  const fs::path folder = place->folder();
  return {ReadPressure(folder / "cpu.pressure"), ReadPressure(folder / "memory.pressure"),
          ReadPressure(folder / "io.pressure")};
}

}  // namespace reveza::platform
