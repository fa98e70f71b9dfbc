#include "runner/supervisor/cycle_tap.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

namespace reveza::runner {
namespace {

std::string ToText(const std::vector<Metric>& metrics) {
  std::string text;
  for (const auto& metric : metrics) {
    char number[32];
    const auto end = std::to_chars(number, number + sizeof(number), metric.value).ptr;
    if (!text.empty()) text += ' ';
    text.append(metric.name).append("=").append(number, end);
  }
  return text;
}

}  // namespace

int CycleTap::Open(int file) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return file;
  reader_ = UniqueFd(ends[0]);
  writer_ = UniqueFd(ends[1]);
  fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
  file_ = UniqueFd(fcntl(file, F_DUPFD_CLOEXEC, 0));
  lines_ = CycleLines();
  return writer_.get();
}

std::vector<CycleTap::Cycle> CycleTap::Read() {
  std::vector<CycleLine> lines;
  // Not without end: a program may print faster than this is read.
  constexpr int kMostParts = 64;
  char part[65536];
  for (int i = 0; i < kMostParts && reader_; ++i) {
    const ssize_t size = read(reader_.get(), part, sizeof(part));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) break;
    if (size == 0) {
      reader_.Reset();
      break;
    }
    const std::string_view bytes(part, static_cast<std::size_t>(size));
    // A full disk costs the program its output, never its cycles.
    for (std::string_view left = bytes; !left.empty();) {
      const ssize_t written = write(file_.get(), left.data(), left.size());
      if (written <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(written));
    }
    lines_.Feed(bytes, lines);
  }
  std::vector<Cycle> cycles;
  for (const auto& line : lines) cycles.push_back({line.number, ToText(line.metrics)});
  return cycles;
}

void CycleTap::Close() {
  reader_.Reset();
  writer_.Reset();
  file_.Reset();
}

}  // namespace reveza::runner
