#include "phi/plot/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "phi/measures/significance.h"
#include "phi/plot/svg.h"

namespace reveza::phi {
namespace {

constexpr std::size_t kMaxLines = 8;
constexpr std::size_t kMaxPoints = 2000;
constexpr int kSteps = 7;
constexpr double kSignificant = 0.01;

std::string Open(double width, double height, std::string_view name, std::string_view words) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" data-chart=\"{}\" role=\"img\" "
      "aria-label=\"{}\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 {:.0f} {:.0f}\">\n",
      name, EscapeXml(words), width, height, width, height);
}

std::string Text(double x, double y, std::string_view anchor, std::string_view text,
                 std::string_view more = "") {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"11.5\" {} "
      "fill=\"var(--soft)\">{}</text>\n",
      x, y, anchor, more, EscapeXml(text));
}

// Returns the values of all runs at one time, ascending.
std::vector<double> SortedAt(const Track& track, std::size_t at) {
  std::vector<double> values;
  for (const auto& run : track.runs) {
    if (std::isfinite(run[at])) values.push_back(run[at]);
  }
  std::ranges::sort(values);
  return values;
}

std::vector<std::size_t> Shown(const Track& track) {
  const std::size_t step = (track.x.size() + kMaxPoints - 1) / kMaxPoints;
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < track.x.size(); i += step) shown.push_back(i);
  if (shown.back() != track.x.size() - 1) shown.push_back(track.x.size() - 1);
  return shown;
}

struct Frame {
  Scale x;
  Scale y;
};

// Returns the minimum and maximum of the drawn values.
std::pair<double, double> ExtentOf(const Track& track) {
  double min = std::numeric_limits<double>::infinity();
  double max = -min;
  for (std::size_t at = 0; at < track.x.size(); ++at) {
    const auto sorted = SortedAt(track, at);
    if (sorted.empty()) continue;
    const bool band = track.runs.size() > kMaxLines;
    min = std::min(min, band ? Quantile(sorted, 0.1) : sorted.front());
    max = std::max(max, band ? Quantile(sorted, 0.9) : sorted.back());
  }
  return {min, max};
}

Frame FrameOf(const Track& track, double width, double height) {
  auto [min, max] = ExtentOf(track);
  // Include 0 as the reference.
  min = std::min(min, 0.0);
  if (track.null_band) {
    if (std::isfinite(track.null_band->low)) min = std::min(min, track.null_band->low);
    max = std::max(max, track.null_band->high);
  }
  constexpr double kLeft = 58;
  Scale x = {track.x.front(), track.x.back(), kLeft, width - 16};
  if (!(x.max > x.min)) x.max = x.min + 1;
  return {x, NiceScale(min, max, height - 30, 12)};
}

std::string Axes(const Frame& frame, const std::string& x_name, std::string_view y_unit) {
  std::string svg;
  for (const double tick : Ticks(frame.y, 4)) {
    const double y = frame.y(tick);
    svg += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"var(--line)\"/>\n",
        frame.x.from, frame.x.to, y, y);
    svg += Text(frame.x.from - 8, y + 4, "end", FormatShort(tick));
  }
  for (const double tick : Ticks(frame.x, 8)) {
    if (frame.x(tick) > frame.x.to - 50) continue;
    svg += Text(frame.x(tick), frame.y.from + 18, "middle", fmt::format("{:g}", tick));
  }
  svg += Text(frame.x.from + 4, frame.y.to - 2, "start", std::string(y_unit));
  return svg + Text(frame.x.to, frame.y.from + 18, "end", x_name);
}

std::string NullBandSvg(const NullBand& band, const Frame& frame) {
  const double top = frame.y(band.high);
  const double bottom = frame.y(std::max(band.low, frame.y.min));
  return fmt::format(
             "<g class=\"null\"><title>null: {}, mean {}. {}</title><rect x=\"{:.1f}\" "
             "y=\"{:.1f}\" "
             "width=\"{:.1f}\" height=\"{:.1f}\" fill=\"var(--null)\"/><line x1=\"{:.1f}\" "
             "x2=\"{:.1f}\" "
             "y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"var(--never)\" stroke-dasharray=\"4 4\"/></g>\n",
             RangeText(band), FormatShort(band.mean), EscapeXml(band.text), frame.x.from, top,
             frame.x.to - frame.x.from, std::max(1.0, bottom - top), frame.x.from, frame.x.to,
             frame.y(band.mean), frame.y(band.mean)) +
         Text(frame.x.to - 6, top - 4, "end", "null");
}

std::string RunLine(const Track& track, const std::vector<double>& run, const Frame& frame,
                    std::string_view style) {
  std::string path;
  bool pen_down = false;
  for (const std::size_t at : Shown(track)) {
    // Bridge missing values.
    if (!std::isfinite(run[at])) continue;
    path += fmt::format("{}{:.1f} {:.1f}", pen_down ? 'L' : 'M', frame.x(track.x[at]),
                        frame.y(run[at]));
    pen_down = true;
  }
  return fmt::format("<path d=\"{}\" fill=\"none\" {}/>\n", path, style);
}

std::string BandAndMedian(const Track& track, const Frame& frame) {
  std::string upper;
  std::string lower;
  std::vector<double> median(track.x.size(), std::nan(""));
  for (const std::size_t at : Shown(track)) {
    const auto sorted = SortedAt(track, at);
    if (sorted.empty()) continue;
    median[at] = Quantile(sorted, 0.5);
    upper += fmt::format("{}{:.1f} {:.1f}", upper.empty() ? 'M' : 'L', frame.x(track.x[at]),
                         frame.y(Quantile(sorted, 0.9)));
    lower.insert(
        0, fmt::format("L{:.1f} {:.1f}", frame.x(track.x[at]), frame.y(Quantile(sorted, 0.1))));
  }
  return fmt::format("<path d=\"{}{}Z\" fill=\"var(--first)\" fill-opacity=\"0.18\"/>\n", upper,
                     lower) +
         RunLine(track, median, frame, "stroke=\"var(--first)\" stroke-width=\"2\"");
}

std::string PairTitle(const PlotData& data, const PairMatrix& pairs, std::size_t from,
                      std::size_t to) {
  const std::size_t pair = from * data.variables.size() + to;
  return fmt::format("{} to {}: {} nats, p = {}", data.variables[from], data.variables[to],
                     FormatShort(pairs.transfer[pair]), FormatShort(pairs.p[pair]));
}

struct Point {
  double x, y;
};

// Draws the arrow of an influence, curved so that both directions stay visible.
std::string Arrow(Point from, Point to, double share, const std::string& title) {
  const double dx = to.x - from.x;
  const double dy = to.y - from.y;
  const double length = std::max(1.0, std::hypot(dx, dy));
  constexpr double kRadius = 17;
  const Point begin = {from.x + dx / length * kRadius, from.y + dy / length * kRadius};
  const Point end = {to.x - dx / length * (kRadius + 6), to.y - dy / length * (kRadius + 6)};
  const Point bend = {(from.x + to.x) / 2 - dy * 0.1, (from.y + to.y) / 2 + dx * 0.1};
  return fmt::format(
      "<path d=\"M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" "
      "stroke=\"var(--soft)\" stroke-opacity=\"{:.2f}\" stroke-width=\"{:.1f}\" "
      "marker-end=\"url(#tip)\"><title>{}</title></path>\n",
      begin.x, begin.y, bend.x, bend.y, end.x, end.y, 0.25 + 0.65 * share, 1 + 2.5 * share,
      EscapeXml(title));
}

// Draws the strongest significant influences, at most three per variable.
std::string Arrows(const PlotData& data, const std::vector<Point>& places) {
  if (!data.pairs) return "";
  const PairMatrix& pairs = *data.pairs;
  const std::size_t count = data.variables.size();
  std::vector<std::size_t> order;
  for (std::size_t pair = 0; pair < count * count; ++pair) {
    if (pair / count != pair % count && pairs.p[pair] < kSignificant) order.push_back(pair);
  }
  const auto& transfer = pairs.transfer;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return transfer[a] > transfer[b]; });
  if (order.size() > 3 * count) order.resize(3 * count);
  std::string svg;
  for (const std::size_t pair : order) {
    const double share = transfer[pair] / std::max(transfer[order.front()], 1e-300);
    svg += Arrow(places[pair / count], places[pair % count], share,
                 PairTitle(data, pairs, pair / count, pair % count));
  }
  return svg;
}

}  // namespace

std::string MeasureTitle(std::string_view measure) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kTitles = {{
      {"phi_legacy", "legacy phi: mean absolute correlation"},
      {"i", "time-delayed mutual information"},
      {"mi", "multi-information"},
      {"si", "stochastic interaction"},
      {"wms", "whole minus sum"},
      {"phi_r", "\u03a6R, whole minus sum without double redundancy"},
      {"phi_g", "\u03a6G, geometric integrated information"},
      {"phi_star", "\u03a6*, mismatched decoding"},
  }};
  for (const auto& [name, title] : kTitles) {
    if (name == measure) return std::string(title);
  }
  return std::string(measure);
}

std::string RangeText(const NullBand& band) {
  return std::isfinite(band.low)
             ? fmt::format("{} to {}", FormatShort(band.low), FormatShort(band.high))
             : fmt::format("up to {}", FormatShort(band.high));
}

Chart TrackChart(const Track& track, const std::string& x_name, double width) {
  constexpr double kHeight = 190;
  const Frame frame = FrameOf(track, width, kHeight);
  std::string svg =
      Open(width, kHeight, "track-" + track.measure, MeasureTitle(track.measure) + " over time");
  if (track.null_band) svg += NullBandSvg(*track.null_band, frame);
  svg += Axes(frame, x_name, track.measure == "phi_legacy" ? "" : "nats");
  if (track.runs.size() == 1) {
    svg += RunLine(track, track.runs[0], frame, "stroke=\"var(--first)\" stroke-width=\"1.8\"");
  } else if (track.runs.size() <= kMaxLines) {
    for (const auto& run : track.runs) {
      svg += RunLine(track, run, frame,
                     "stroke=\"var(--first)\" stroke-width=\"1.2\" stroke-opacity=\"0.6\"");
    }
  } else {
    svg += BandAndMedian(track, frame);
  }
  return {svg + "</svg>\n", width, kHeight};
}

Chart PairChart(const PlotData& data, const PairMatrix& pairs, double width) {
  const std::size_t count = data.variables.size();
  constexpr double kLabels = 118;
  constexpr double kTop = 22;
  const double side = std::min(54.0, (width - kLabels - 4) / static_cast<double>(count));
  const double height = kTop + side * static_cast<double>(count) + 96;
  double max = 0;
  for (std::size_t pair = 0; pair < count * count; ++pair) {
    if (pair / count != pair % count) max = std::max(max, pairs.transfer[pair]);
  }
  std::string svg =
      Open(width, height, "pairs", "transfer entropy of each pair, from rows to columns");
  svg += Text(kLabels - 8, kTop - 8, "end", "from");
  svg += Text(kLabels + side * static_cast<double>(count) / 2, kTop - 8, "middle", "to");
  for (std::size_t from = 0; from < count; ++from) {
    const double y = kTop + side * static_cast<double>(from);
    svg += Text(kLabels - 8, y + side / 2 + 4, "end", ShortName(data.variables[from], 17));
    for (std::size_t to = 0; to < count; ++to) {
      const double x = kLabels + side * static_cast<double>(to);
      if (from == to) continue;
      const std::size_t pair = from * count + to;
      const double share = max > 0 ? std::max(0.0, pairs.transfer[pair]) / max : 0;
      const int step = std::min(kSteps - 1, static_cast<int>(share * kSteps));
      const bool chance = pairs.p[pair] >= kSignificant;
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\" "
          "fill=\"var(--blue-{})\"{}><title>{}</title></rect>\n",
          x + 1, y + 1, side - 2, side - 2, step, chance ? " fill-opacity=\"0.35\"" : "",
          EscapeXml(PairTitle(data, pairs, from, to)));
      if (side >= 40) {
        svg += fmt::format(
            "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"10.5\" "
            "pointer-events=\"none\" fill=\"var(--on-{})\">{}</text>\n",
            x + side / 2, y + side / 2 + 4, step >= 4 && !chance ? "deep" : "pale",
            share < 0.01 ? "" : fmt::format("{:.2g}", pairs.transfer[pair]));
      }
    }
  }
  for (std::size_t to = 0; to < count; ++to) {
    const double x = kLabels + side * (static_cast<double>(to) + 0.5);
    const double y = kTop + 10 + side * static_cast<double>(count);
    svg += Text(x, y, "end", ShortName(data.variables[to], 14),
                fmt::format("transform=\"rotate(-40 {:.1f} {:.1f})\"", x, y));
  }
  return {svg + "</svg>\n", width, height};
}

Chart PartitionChart(const PlotData& data, const PartitionData& partition, double width) {
  const std::size_t count = data.variables.size();
  const double height = std::min(width, 430.0);
  const Point middle = {width / 2, height / 2};
  // Leaves room for the names of 17 letters beside the circles.
  const double radius = std::min(height / 2 - 70, width / 2 - 132);
  // Place the variables of a part next to each other.
  std::vector<std::size_t> order;
  for (const int part : {0, 1}) {
    for (std::size_t i = 0; i < count; ++i) {
      if (partition.part[i] == part) order.push_back(i);
    }
  }
  const auto of_first = static_cast<double>(std::ranges::count(partition.part, 0));
  std::vector<Point> places(count);
  for (std::size_t place = 0; place < count; ++place) {
    // Centre the first part on the left.
    const double turn =
        (static_cast<double>(place) - (of_first - 1) / 2) / static_cast<double>(count);
    const double angle = std::numbers::pi * (1 + 2 * turn);
    places[order[place]] = {middle.x + radius * std::cos(angle),
                            middle.y + radius * std::sin(angle)};
  }
  std::string svg = Open(width, height, "partition", "the minimum information partition");
  svg +=
      "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"4\" refY=\"4\" markerWidth=\"9\" "
      "markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
      "fill=\"var(--soft)\"/></marker></defs>\n";
  svg += Arrows(data, places);
  for (std::size_t i = 0; i < count; ++i) {
    const bool first = partition.part[i] == 0;
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"13\" fill=\"var(--{})\"><title>{}</title>"
        "</circle>\n",
        places[i].x, places[i].y, first ? "first" : "second", EscapeXml(data.variables[i]));
    // Place labels outside the circle, clear of the arrows.
    const double outwards = (places[i].x - middle.x) / radius;
    const bool beside = std::abs(outwards) > 0.8;
    const double above = places[i].y < middle.y ? -20 : 29;
    svg += Text(places[i].x + (beside ? std::copysign(19, outwards) : 0),
                places[i].y + (beside ? 4 : above),
                beside ? (outwards > 0 ? "start" : "end") : "middle",
                ShortName(data.variables[i], 17));
  }
  return {svg + "</svg>\n", width, height};
}

}  // namespace reveza::phi
