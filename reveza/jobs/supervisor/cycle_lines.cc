#include "reveza/jobs/supervisor/cycle_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <utility>

#include "common/base/parse_number.h"
#include "common/platform/text_file.h"

namespace reveza::jobs {
namespace {

using platform::NextWord;

constexpr std::string_view kPrefix = "reveza step ";
constexpr std::string_view kLineEnds = "\n\r";

// Unlike isalpha, independent of the locale.
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool IsMetricName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxMetricName && IsLetter(name.front()) &&
         std::ranges::all_of(name, [](char c) {
           return IsLetter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '/';
         });
}

std::optional<double> ParseMetric(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto value = ParseNumber<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

void Set(std::vector<Metric>& metrics, std::string_view name, double value) {
  const auto same = std::ranges::find(metrics, name, &Metric::name);
  if (same != metrics.end()) {
    same->value = value;
  } else if (metrics.size() < kMaxMetrics) {
    metrics.push_back({std::string(name), value});
  }
}

// Returns whether a line with this beginning may become a report.
bool MayBeReport(std::string_view beginning) {
  const std::size_t known = std::min(beginning.size(), kPrefix.size());
  return beginning.substr(0, known) == kPrefix.substr(0, known);
}

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

std::optional<CycleLine> ParseCycleLine(std::string_view line) {
  if (!line.starts_with(kPrefix) || line.size() > kMaxCycleLine) return std::nullopt;
  line.remove_prefix(kPrefix.size());
  CycleLine report;
  const auto number = ParseNumber<std::uint64_t>(NextWord(line));
  if (!number) return std::nullopt;
  report.number = *number;
  for (std::string_view word = NextWord(line); !word.empty(); word = NextWord(line)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = word.substr(0, equals);
    if (!IsMetricName(name)) continue;
    if (const auto value = ParseMetric(word.substr(equals + 1))) Set(report.metrics, name, *value);
  }
  return report;
}

void CycleLineParser::Feed(std::string_view bytes, std::vector<CycleLine>& found) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of(kLineEnds);
    const std::string_view part = bytes.substr(0, end);
    if (end == std::string_view::npos) {
      if (skipping_) return;
      skipping_ = line_.size() + part.size() > kMaxCycleLine;
      if (!skipping_) skipping_ = !MayBeReport(line_ += part);
      if (skipping_) line_.clear();
      return;
    }
    bytes.remove_prefix(end + 1);
    if (!skipping_ && line_.size() + part.size() <= kMaxCycleLine) {
      std::string_view line = part;
      if (!line_.empty()) line = line_ += part;
      if (auto report = ParseCycleLine(line)) found.push_back(*std::move(report));
    }
    line_.clear();
    skipping_ = false;
  }
}

int CycleTap::Open(int file) {
  lost_output_ = false;
  auto pipe = MakePipe();
  if (!pipe) return file;
  reader_ = std::move(pipe->reader);
  writer_ = std::move(pipe->writer);
  fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
  file_ = UniqueFd(fcntl(file, F_DUPFD_CLOEXEC, 0));
  lines_ = CycleLineParser();
  return writer_.get();
}

std::vector<CycleTap::Cycle> CycleTap::Read() {
  std::vector<CycleLine> lines;
  // Bounded: a program may print faster than it is read.
  constexpr int kMaxParts = 64;
  char part[65536];
  for (int i = 0; i < kMaxParts && reader_; ++i) {
    const ssize_t size = read(reader_.get(), part, sizeof(part));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) break;
    if (size == 0) {
      reader_.Reset();
      break;
    }
    const std::string_view bytes(part, static_cast<std::size_t>(size));
    // On a full disk output is lost, but cycles are still counted.
    for (std::string_view left = bytes; !left.empty();) {
      const ssize_t written = write(file_.get(), left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) {
        lost_output_ = true;
        break;
      }
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

}  // namespace reveza::jobs
