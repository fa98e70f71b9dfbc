#include "platform/process_limits.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "platform/text_file.h"

namespace reveza::platform {

ProcessLimits ParseProcessLimits(std::string_view text) {
  ProcessLimits limits;
  const std::array<std::pair<std::string_view, Limit*>, 6> names = {{
      {"Max address space", &limits.address_space},
      {"Max data size", &limits.data},
      {"Max stack size", &limits.stack},
      {"Max processes", &limits.processes},
      {"Max open files", &limits.open_files},
      {"Max locked memory", &limits.locked_memory},
  }};
  for (const std::string_view line : Lines(text)) {
    for (const auto& [name, limit] : names) {
      if (!line.starts_with(name)) continue;
      const auto words = Words(line.substr(name.size()));
      if (words.size() >= 2) *limit = {ToNumber(words[0]), ToNumber(words[1])};
    }
  }
  return limits;
}

Result<ProcessLimits> ReadProcessLimits(pid_t pid, const std::filesystem::path& root) {
  const auto text = ReadText(ProcessFolder(pid, root) / "limits");
  if (!text || text->empty()) {
    return Fail(Error::Code::kNotFound, fmt::format("the limits of process {} cannot be read: it "
                                                    "has ended, or is hidden from this user",
                                                    pid));
  }
  return ParseProcessLimits(*text);
}

ProcessUse ReadProcessUse(pid_t pid, const std::filesystem::path& root) {
  ProcessUse use;
  const std::filesystem::path folder = ProcessFolder(pid, root);
  const auto text = ReadText(folder / "status");
  if (text) {
    const auto bytes = [&](std::string_view key) -> std::optional<std::uint64_t> {
      const auto kibibytes = NumberOfKey(*text, key);
      if (!kibibytes) return std::nullopt;
      return *kibibytes * kKiB;
    };
    use.address_space = bytes("VmSize:");
    use.address_peak = bytes("VmPeak:");
    use.data = bytes("VmData:");
    use.locked = bytes("VmLck:");
    use.pinned = bytes("VmPin:");
    if (const auto allowed = NumberOfKey(*text, "THP_enabled:")) {
      use.huge_pages_allowed = *allowed != 0;
    }
    use.threads = NumberOfKey(*text, "Threads:");
  }
  std::error_code error;
  std::uint64_t files = 0;
  for (std::filesystem::directory_iterator entry(folder / "fd", error), end; !error && entry != end;
       entry.increment(error)) {
    ++files;
  }
  if (!error && files > 0) use.open_files = files;
  return use;
}

ProcessPages ReadProcessPages(pid_t pid, const std::filesystem::path& root) {
  ProcessPages pages;
  const auto text = ReadText(ProcessFolder(pid, root) / "smaps_rollup");
  if (!text) return pages;
  if (const auto kibibytes = NumberOfKey(*text, "Rss:")) pages.resident = *kibibytes * kKiB;
  if (const auto kibibytes = NumberOfKey(*text, "AnonHugePages:")) pages.huge = *kibibytes * kKiB;
  return pages;
}

}  // namespace reveza::platform
