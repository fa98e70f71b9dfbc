#include "text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units.h"

namespace reveza::fraudgen {
namespace {

constexpr std::size_t kLeastBar = 10;
constexpr std::size_t kMostBar = 30;

// Characters, not bytes: all but those that continue one.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// With a thousand times larger unit each.
std::string ThreeDigits(double value, const std::array<std::string_view, 6>& units) {
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  const int places = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::string text = fmt::format("{:.{}f}", value, places);
  if (!units[unit].empty()) text += fmt::format(" {}", units[unit]);
  return text;
}

double Share(const Moment& moment) {
  if (moment.all_rows == 0) return 1;
  return std::min(1.0, static_cast<double>(moment.rows) / static_cast<double>(moment.all_rows));
}

}  // namespace

std::string FormatCount(uint64_t count) {
  std::string text = fmt::format("{}", count);
  for (std::size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, 1, ',');
  return text;
}

std::string FormatRate(double per_second) {
  return ThreeDigits(per_second, {"", "k", "M", "G", "T", "P"});
}

std::string FormatSize(Bytes bytes) {
  return ThreeDigits(static_cast<double>(bytes), {"B", "kB", "MB", "GB", "TB", "PB"});
}

std::string Render(const TextTable& table, std::size_t indent) {
  std::vector<std::size_t> widths;
  for (const std::string& cell : table.head) widths.push_back(Width(cell));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string blanks(widths[i] - Width(row[i]), ' ');
      line += table.align[i] == Align::kRight ? blanks + row[i] : row[i] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add(table.head);
  for (const auto& row : table.rows) add(row);
  return text;
}

std::string ProgressText(const Moment& moment) {
  const double seconds = std::max(moment.elapsed.count(), 1e-3);
  const double rate = static_cast<double>(moment.rows_made) / seconds;
  std::string text =
      fmt::format("{:3.0f} %  {} rows  {} rows/s  {}/s", std::floor(100 * Share(moment)),
                  FormatRate(static_cast<double>(moment.rows)), FormatRate(rate),
                  FormatSize(static_cast<Bytes>(static_cast<double>(moment.bytes_made) / seconds)));
  // The first moments say nothing about the rest.
  if (seconds >= 1 && rate > 0 && moment.rows < moment.all_rows) {
    const double left = static_cast<double>(moment.all_rows - moment.rows) / rate;
    text +=
        fmt::format("  {} left",
                    FormatDuration(std::chrono::seconds(std::llround(std::clamp(left, 1.0, 1e9)))));
  }
  if (moment.memory > 0) text += fmt::format("  {} of memory", FormatSize(moment.memory));
  return text;
}

std::string ProgressBar(const Moment& moment, std::size_t width) {
  std::string text = ProgressText(moment);
  // In a usual terminal the bar says more than the memory.
  if (width < text.size() + 4 + kLeastBar) {
    Moment less = moment;
    less.memory = 0;
    text = ProgressText(less);
  }
  const std::size_t around = text.size() + 4;
  if (width < around + kLeastBar) return text.substr(0, width);
  const std::size_t length = std::min(kMostBar, width - around);
  const auto full = static_cast<std::size_t>(Share(moment) * static_cast<double>(length));
  return fmt::format("[{}{}]  {}", std::string(full, '#'), std::string(length - full, '.'), text);
}

}  // namespace reveza::fraudgen
