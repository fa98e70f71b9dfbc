#include "runner/supervisor/cycle_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace reveza::runner {
namespace {

constexpr std::string_view kPrefix = "reveza step ";
constexpr std::string_view kEnds = "\n\r";

// Not isalpha: what a name is must not depend on the locale.
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool IsMetricName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestMetricName && IsLetter(name.front()) &&
         std::ranges::all_of(name, [](char c) {
           return IsLetter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '/';
         });
}

std::optional<double> ParseNumber(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Takes the first word and the blanks before it off `text`; empty when there is none.
std::string_view TakeWord(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

void Set(std::vector<Metric>& metrics, std::string_view name, double value) {
  const auto same = std::ranges::find(metrics, name, &Metric::name);
  if (same != metrics.end()) {
    same->value = value;
  } else if (metrics.size() < kMostMetrics) {
    metrics.push_back({std::string(name), value});
  }
}

// Whether a line that begins like this can become a report.
bool MayBeReport(std::string_view beginning) {
  const std::size_t known = std::min(beginning.size(), kPrefix.size());
  return beginning.substr(0, known) == kPrefix.substr(0, known);
}

}  // namespace

std::optional<CycleLine> ParseCycleLine(std::string_view line) {
  if (!line.starts_with(kPrefix) || line.size() > kLongestCycleLine) return std::nullopt;
  line.remove_prefix(kPrefix.size());
  CycleLine report;
  const std::string_view number = TakeWord(line);
  const char* last = number.data() + number.size();
  const auto [end, error] = std::from_chars(number.data(), last, report.number);
  if (number.empty() || error != std::errc() || end != last) return std::nullopt;
  for (std::string_view word = TakeWord(line); !word.empty(); word = TakeWord(line)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = word.substr(0, equals);
    if (!IsMetricName(name)) continue;
    if (const auto value = ParseNumber(word.substr(equals + 1))) Set(report.metrics, name, *value);
  }
  return report;
}

void CycleLines::Feed(std::string_view bytes, std::vector<CycleLine>& found) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of(kEnds);
    const std::string_view part = bytes.substr(0, end);
    if (end == std::string_view::npos) {
      if (skipping_) return;
      skipping_ = line_.size() + part.size() > kLongestCycleLine;
      if (!skipping_) skipping_ = !MayBeReport(line_ += part);
      if (skipping_) line_.clear();
      return;
    }
    bytes.remove_prefix(end + 1);
    if (!skipping_ && line_.size() + part.size() <= kLongestCycleLine) {
      std::string_view line = part;
      if (!line_.empty()) line = line_ += part;
      if (auto report = ParseCycleLine(line)) found.push_back(*std::move(report));
    }
    line_.clear();
    skipping_ = false;
  }
}

}  // namespace reveza::runner
