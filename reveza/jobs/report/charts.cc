#include "reveza/jobs/report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "common/base/units.h"

namespace reveza::jobs {
namespace {

constexpr double kWidth = 1080;
constexpr double kLaneHeight = 12;
constexpr double kAxisHeight = 22;
constexpr double kMinGap = 0.75;  // pixels: less is drawn as nothing

constexpr double kPlotWidth = 340;
constexpr double kPlotHeight = 210;
constexpr double kLeft = 58;
constexpr double kBottom = 36;
constexpr double kMargin = 10;

// Returns a round step of 1, 2 or 5 times a power of ten that divides `range` into about `parts`.
double RoundStep(double range, int parts) {
  if (!(range > 0)) return 1;
  const double raw = range / parts;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

struct LaneOfSpans {
  double free_at = -std::numeric_limits<double>::infinity();
  std::vector<const Span*> spans;
};

// Spans must be sorted by their begin.
std::vector<LaneOfSpans> Arrange(const std::vector<Span>& spans) {
  std::vector<LaneOfSpans> lanes;
  for (const Span& span : spans) {
    auto lane = std::ranges::find_if(
        lanes, [&](const LaneOfSpans& one) { return one.free_at <= span.begin; });
    if (lane == lanes.end()) lane = lanes.insert(lanes.end(), LaneOfSpans{});
    lane->free_at = span.end;
    lane->spans.push_back(&span);
  }
  return lanes;
}

struct Box {
  double left = 0;
  double right = 0;
  std::string style;
  std::string title;
};

void AppendBox(std::string& svg, const Box& box, double top) {
  fmt::format_to(std::back_inserter(svg),
                 R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">)"
                 "<title>{}</title></rect>\n",
                 EscapeHtml(box.style), box.left, top, std::max(box.right - box.left, 0.5),
                 kLaneHeight - 2, EscapeHtml(box.title));
}

void AppendLane(std::string& svg, const LaneOfSpans& lane, double begin, double scale, double top) {
  std::vector<Box> boxes;
  std::size_t merged = 0;
  for (const Span* span : lane.spans) {
    const double left = (span->begin - begin) * scale;
    const double right = (span->end - begin) * scale;
    const std::string title =
        fmt::format("{}: {}, {}", span->label, span->style, FormatSeconds(span->end - span->begin));
    const bool joins = !boxes.empty() && boxes.back().style == span->style &&
                       left - boxes.back().right < kMinGap && right - left < kMinGap;
    if (!joins) {
      merged = 1;
      boxes.push_back({left, right, span->style, title});
      continue;
    }
    boxes.back().right = right;
    boxes.back().title = fmt::format("{} steps: {}", ++merged, span->style);
  }
  for (const Box& box : boxes) AppendBox(svg, box, top);
}

void AppendTimeAxis(std::string& svg, double seconds, double scale, double height) {
  constexpr int kParts = 8;
  const double step = RoundStep(seconds, kParts);
  constexpr double kLabel = 48;  // pixels
  for (int i = 0; i <= 2 * kParts && i * step * scale <= kWidth - kLabel; ++i) {
    const double at = i * step;
    const double x = at * scale;
    fmt::format_to(std::back_inserter(svg),
                   R"(<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="0" y2="{1:.1f}"/>)"
                   R"(<text x="{0:.1f}" y="{2:.1f}">{3}</text>)"
                   "\n",
                   x, height, height + kAxisHeight - 8, FormatSeconds(at));
  }
}

struct Axis {
  double min = 0;
  double max = 1;
  double step = 1;

  double Part(double value) const { return (value - min) / (max - min); }
  // Returns where lines go. Counted, because a step may be too small to change the value.
  std::vector<double> Marks() const {
    constexpr int kMax = 12;
    std::vector<double> marks;
    for (int i = 0; i <= kMax && min + i * step <= max + step / 2; ++i) {
      const double at = min + i * step;
      marks.push_back(std::abs(at) < step / 1e6 ? 0 : at);
    }
    return marks;
  }
};

Axis AxisOf(const std::vector<Point>& points, double Point::* value) {
  constexpr int kParts = 4;
  Axis axis{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), 1};
  for (const Point& point : points) {
    axis.min = std::min(axis.min, point.*value);
    axis.max = std::max(axis.max, point.*value);
  }
  if (!(axis.max > axis.min)) {
    const double around = std::max(std::abs(axis.min) * 0.1, 0.5);
    axis = {axis.min - around, axis.max + around, 1};
  }
  axis.step = RoundStep(axis.max - axis.min, kParts);
  axis.min = std::floor(axis.min / axis.step) * axis.step;
  axis.max = std::ceil(axis.max / axis.step) * axis.step;
  return axis;
}

double PlotX(double part) { return kLeft + part * (kPlotWidth - kLeft - kMargin); }
double PlotY(double part) {
  return kPlotHeight - kBottom - part * (kPlotHeight - kBottom - kMargin);
}

void AppendGrid(std::string& svg, const Axis& x, const Axis& y, bool numbers) {
  const auto out = std::back_inserter(svg);
  for (const double at : y.Marks()) {
    fmt::format_to(out,
                   R"(<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)"
                   R"(<text class="end" x="{:.1f}" y="{:.1f}">{:.4g}</text>)"
                   "\n",
                   PlotX(0), PlotX(1), PlotY(y.Part(at)), PlotY(y.Part(at)), kLeft - 6,
                   PlotY(y.Part(at)) + 4, at);
  }
  if (!numbers) return;
  for (const double at : x.Marks()) {
    fmt::format_to(out,
                   R"(<text class="middle" x="{:.1f}" y="{:.1f}">{:.4g}</text>)"
                   "\n",
                   PlotX(x.Part(at)), kPlotHeight - kBottom + 15, at);
  }
}

std::string Shortened(std::string text) {
  constexpr std::size_t kMax = 12;
  if (text.size() <= kMax) return text;
  // Not within a character of UTF-8.
  std::size_t end = kMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;
  text.resize(end);
  return text + "...";
}

void AppendCategories(std::string& svg, const Axis& x, const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNames = 5;
  if (names.size() > kMaxNames) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    fmt::format_to(std::back_inserter(svg),
                   R"(<text class="middle" x="{:.1f}" y="{:.1f}">{}</text>)"
                   "\n",
                   PlotX(x.Part(static_cast<double>(i))), kPlotHeight - kBottom + 15,
                   EscapeHtml(Shortened(names[i])));
  }
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      case '\n':
      case '\t':
        escaped += c;
        break;
      default:
        // No document may have other control characters.
        escaped += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return escaped;
}

std::string TimeLine(std::vector<Span> spans, std::size_t& lanes) {
  std::ranges::stable_sort(spans, {}, &Span::begin);
  const std::vector<LaneOfSpans> arranged = Arrange(spans);
  lanes = arranged.size();
  if (spans.empty()) return {};
  const double begin = spans.front().begin;
  const double end = std::ranges::max(spans, {}, &Span::end).end;
  const double seconds = std::max(end - begin, 1e-3);
  const double scale = kWidth / seconds;
  const std::size_t drawn = std::min(lanes, kMaxLanes);
  const double height = static_cast<double>(drawn) * kLaneHeight;
  std::string svg = fmt::format(R"(<svg class="timeline" viewBox="0 0 {:.0f} {:.0f}" role="img" )"
                                "aria-label=\"time line\">\n",
                                kWidth, height + kAxisHeight);
  AppendTimeAxis(svg, seconds, scale, height);
  for (std::size_t i = 0; i < drawn; ++i) {
    AppendLane(svg, arranged[i], begin, scale, static_cast<double>(i) * kLaneHeight + 1);
  }
  return svg + "</svg>\n";
}

std::string Scatter(const std::vector<Point>& points, const std::vector<std::string>& categories,
                    const std::string& x_name, const std::string& y_name) {
  if (points.empty()) return {};
  const Axis y = AxisOf(points, &Point::y);
  const bool numbers = categories.empty();
  const Axis x = numbers ? AxisOf(points, &Point::x)
                         : Axis{-0.5, static_cast<double>(categories.size()) - 0.5, 1};
  std::string svg = fmt::format(
      R"(<svg class="plot" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{} over {}">)"
      "\n",
      kPlotWidth, kPlotHeight, EscapeHtml(y_name), EscapeHtml(x_name));
  AppendGrid(svg, x, y, numbers);
  AppendCategories(svg, x, categories);
  for (const Point& point : points) {
    fmt::format_to(std::back_inserter(svg),
                   R"(<circle cx="{:.1f}" cy="{:.1f}" r="2.6"><title>{}</title></circle>)"
                   "\n",
                   PlotX(x.Part(point.x)), PlotY(y.Part(point.y)), EscapeHtml(point.label));
  }
  fmt::format_to(std::back_inserter(svg),
                 R"(<text class="middle name" x="{:.1f}" y="{:.1f}">{}</text></svg>)"
                 "\n",
                 PlotX(0.5), kPlotHeight - 5, EscapeHtml(Shortened(x_name)));
  return svg;
}

}  // namespace reveza::jobs
