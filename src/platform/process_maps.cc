#include "platform/process_maps.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "platform/text_file.h"

namespace reveza::platform {
namespace {

// "7f00-7f01 rw-s ...": the difference.
std::uint64_t SizeOf(std::string_view line) {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  const char* const last = line.data() + line.size();
  const auto first = std::from_chars(line.data(), last, begin, 16);
  if (first.ec != std::errc() || first.ptr == last || *first.ptr != '-') return 0;
  const auto second = std::from_chars(first.ptr + 1, last, end, 16);
  return second.ec == std::errc() && end > begin ? end - begin : 0;
}

}  // namespace

ProcessMaps ParseProcessMaps(std::string_view text) {
  ProcessMaps maps;
  for (const std::string_view line : Lines(text)) {
    if (line.empty()) continue;
    ++maps.count;
    const auto path = line.find('/');
    if (path == std::string_view::npos) continue;
    const std::string_view file = line.substr(path);
    if (file.starts_with("/dev/nvidia-uvm")) {
      ++maps.uvm;
      maps.uvm_bytes += SizeOf(line);
    }
    const auto rights = line.find(' ');
    if (line.size() < rights + 4 || line[rights + 3] != 'x') continue;
    if (std::ranges::find(maps.libraries, file) == maps.libraries.end()) {
      maps.libraries.emplace_back(file);
    }
  }
  return maps;
}

std::optional<ProcessMaps> ReadProcessMaps(pid_t pid, const std::filesystem::path& root) {
  const auto text = ReadText(ProcessFolder(pid, root) / "maps");
  if (!text || text->empty()) return std::nullopt;
  return ParseProcessMaps(*text);
}

std::optional<std::string> FindLibrary(const ProcessMaps& maps, std::string_view prefix) {
  for (const std::string& library : maps.libraries) {
    const auto name = library.find_last_of('/') + 1;
    if (std::string_view(library).substr(name).starts_with(prefix)) return library;
  }
  return std::nullopt;
}

}  // namespace reveza::platform
