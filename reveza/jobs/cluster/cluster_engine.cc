#include "reveza/jobs/cluster/cluster_engine.h"

#include <fmt/format.h>

namespace reveza::jobs {

std::vector<std::string_view> SplitFields(std::string_view line, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = line.find(separator);
    parts.push_back(line.substr(0, at));
    if (at == line.npos) return parts;
    line.remove_prefix(at + 1);
  }
}

std::string LastLineOf(const platform::ProgramOutput& output) {
  std::string text = output.errors.empty() ? output.out : output.errors;
  while (text.ends_with('\n')) text.pop_back();
  text = text.substr(text.rfind('\n') + 1);
  return text.empty() ? fmt::format("exit status {}", output.status) : text;
}

}  // namespace reveza::jobs
