#include "reveza/jobs/engine/orphans.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "common/base/parse_number.h"
#include "common/base/unique_fd.h"
#include "common/platform/text_file.h"

namespace reveza::jobs {
namespace {

// Returns the record that a process writes, if it is a supervisor, which runs as "PROGRAM SOCKET
// RECORD"; else an empty path.
std::filesystem::path RecordOf(const std::filesystem::path& process) {
  const auto line = platform::ReadText((process / "cmdline").string()).value_or("");
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find('\0', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words.size() == 3 && ParseNumber<int>(words[1]) ? words[2] : std::string();
}

}  // namespace

bool EndOrphan(const std::filesystem::path& record) {
  const auto processes = platform::ListFolder("/proc");
  if (!processes) return false;
  for (const auto& path : *processes) {
    const auto pid = ParseNumber<pid_t>(path.filename().native());
    if (!pid) continue;
    // Opened before it is looked at: afterwards the number cannot become another process's.
    const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, *pid, 0)));
    const auto written = RecordOf(path);
    std::error_code ignored;
    if (!process || written.filename() != record.filename() ||
        !std::filesystem::equivalent(written, record, ignored)) {
      continue;
    }
    if (syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0) == 0) return true;
  }
  return false;
}

}  // namespace reveza::jobs
