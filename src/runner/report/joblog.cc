#include "runner/report/joblog.h"

#include <fmt/format.h>

namespace reveza::runner {
namespace {

std::string OneLine(std::string_view command) {
  std::string line;
  line.reserve(command.size());
  for (const char c : command) {
    if (c == '\t') {
      line += "\\t";
    } else if (c == '\n') {
      line += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace

std::string_view JoblogHeader() {
  return "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";
}

std::string JoblogLine(const JoblogEntry& entry) {
  using Seconds = std::chrono::duration<double>;
  return fmt::format("{}\t{}\t{:.3f}\t{:10.3f}\t{}\t{}\t{}\t{}\t{}\n", entry.number,
                     OneLine(entry.host), Seconds(entry.start.time_since_epoch()).count(),
                     Seconds(entry.duration).count(), entry.sent, entry.received, entry.exit_status,
                     entry.signal, OneLine(entry.command));
}

}  // namespace reveza::runner
