#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "phi/plot/charts.h"
#include "phi/plot/svg.h"

namespace reveza::phi {
namespace {

struct Color {
  std::string_view name, light, dark;
};
// The palette of fraudgen's reports.
constexpr std::array<Color, 19> kColors = {{
    {"ground", "#f4f5f7", "#12161c"},  {"card", "#ffffff", "#1a2029"},
    {"ink", "#1c2430", "#e7ebf0"},     {"soft", "#5d6878", "#9aa6b5"},
    {"line", "#e1e5ea", "#2c3541"},    {"first", "#2b6cb0", "#6aaef0"},
    {"second", "#d9580d", "#ff9a4d"},  {"never", "#b9c0ca", "#4d5866"},
    {"null", "#eef1f5", "#252d38"},    {"blue-0", "#edf3fa", "#1c2733"},
    {"blue-1", "#cfe0f2", "#1d3a58"},  {"blue-2", "#a3c6e6", "#22527f"},
    {"blue-3", "#6da4d4", "#2e70a8"},  {"blue-4", "#3a7dba", "#4a93cf"},
    {"blue-5", "#1f5890", "#80b9ea"},  {"blue-6", "#123a63", "#c0dffa"},
    {"on-pale", "#1c2430", "#ffffff"}, {"on-deep", "#ffffff", "#12161c"},
    {"warn", "#d9580d", "#ff9a4d"},
}};

constexpr std::string_view kStyle = R"(
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 Inter, "Segoe UI",
  Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif;
  font-variant-numeric: tabular-nums; }
main { max-width: 1160px; margin: 0 auto; padding: 36px 24px 48px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.02em;
  overflow-wrap: anywhere; }
h2 { font-size: 15px; margin: 0; }
p { margin: 0; color: var(--soft); text-wrap: pretty; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 14px;
  margin-top: 26px; }
.tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.tile { padding: 14px 18px; }
.tile b { display: block; font-size: 24px; line-height: 1.25; letter-spacing: -0.02em;
  font-weight: 650; white-space: nowrap; }
.tile span { color: var(--soft); font-size: 13px; display: block; }
.notice { margin-top: 16px; padding: 10px 16px; border-radius: 10px; background: var(--card);
  border: 1px solid var(--warn); color: var(--ink); }
.cards { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 16px;
  margin-top: 16px; }
.card { padding: 18px 20px 14px; min-width: 0; }
.card.wide { grid-column: 1 / -1; }
.card > p { font-size: 13px; margin-top: 2px; }
.chart { margin-top: 12px; overflow-x: auto; }
.chart > svg { display: block; font-family: inherit; max-width: 100%; height: auto; }
.key { display: inline-block; width: 11px; height: 11px; border-radius: 3px; }
footer { margin-top: 40px; font-size: 12.5px; color: var(--soft); }
@media (max-width: 820px) { .cards { grid-template-columns: minmax(0, 1fr); } }
@media print { .card, .tile { break-inside: avoid; } }
)";

std::string ColorRules() {
  std::string rules = ":root { color-scheme: light dark;\n";
  for (const Color& color : kColors) {
    rules += fmt::format("  --{}: light-dark({}, {});\n", color.name, color.light, color.dark);
  }
  return rules + "}\n";
}

// Replaces CSS variables by light colours, for viewers without CSS variables.
std::string InLightColors(std::string text) {
  for (const Color& color : kColors) {
    const std::string name = fmt::format("var(--{})", color.name);
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, name.size(), color.light);
    }
  }
  return text;
}

struct Extent {
  double min = 0, mean = 0, max = 0;
};

Extent PageExtent(const Track& track) {
  Extent extent;
  double sum = 0;
  std::size_t count = 0;
  for (const auto& run : track.runs) {
    for (const double value : run) {
      if (!std::isfinite(value)) continue;
      extent.min = count == 0 ? value : std::min(extent.min, value);
      extent.max = count == 0 ? value : std::max(extent.max, value);
      sum += value;
      ++count;
    }
  }
  extent.mean = count == 0 ? 0 : sum / static_cast<double>(count);
  return extent;
}

std::string UnitOf(const Track& track) { return track.measure == "phi_legacy" ? "" : " nats"; }

std::string Tile(const std::string& value, const std::string& caption) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", EscapeXml(value),
                     EscapeXml(caption));
}

std::string Tiles(const PlotData& data) {
  std::string html = "<div class=\"tiles\">\n";
  for (const Track& track : data.tracks) {
    const Extent extent = PageExtent(track);
    html += Tile(FormatShort(extent.mean) + UnitOf(track),
                 fmt::format("mean of {}; range {} to {}", track.measure, FormatShort(extent.min),
                             FormatShort(extent.max)));
  }
  html += Tile(fmt::format("{}", data.rows),
               data.runs > 1 ? fmt::format("rows of {} runs", data.runs) : "rows");
  return html + "</div>\n";
}

std::string TrackCaption(const Track& track) {
  std::string caption;
  if (track.runs.size() > 8) {
    caption = fmt::format("Median and central 80 % of {} runs. ", track.runs.size());
  } else if (track.runs.size() > 1) {
    caption = fmt::format("{} runs. ", track.runs.size());
  }
  if (track.null_band) {
    caption += fmt::format("Grey: null distribution, {} ({}); dashed: its mean.",
                           RangeText(*track.null_band), track.null_band->text);
  } else {
    caption += "The null distribution, without integration, is not known.";
  }
  return caption;
}

std::string Card(std::string_view title, std::string_view caption, const Chart& chart, bool wide) {
  return fmt::format(
      "<section class=\"card{}\"><h2>{}</h2><p>{}</p><div class=\"chart\">{}</div></section>\n",
      wide ? " wide" : "", EscapeXml(title), caption, chart.svg);
}

std::string PartNames(const PlotData& data, const PartitionData& partition, int part) {
  std::string names;
  for (std::size_t i = 0; i < data.variables.size(); ++i) {
    if (partition.part[i] != part) continue;
    if (!names.empty()) names += ", ";
    names += data.variables[i];
  }
  return EscapeXml(names);
}

std::string PartitionCaption(const PlotData& data, const PartitionData& partition) {
  return fmt::format(
      "The bipartition that minimises {}, at {} nats{}. <i class=\"key\" style=\"background: "
      "var(--first)\"></i> {} <i class=\"key\" style=\"background: var(--second)\"></i> {}. "
      "Arrows: the largest significant transfer entropies.",
      partition.measure, FormatShort(partition.value),
      partition.exact ? "" : ", by an approximate search", PartNames(data, partition, 0),
      PartNames(data, partition, 1));
}

constexpr std::string_view kPairTitle = "Transfer entropy, from rows to columns, nats";
constexpr std::string_view kPairCaption =
    "Gaussian transfer entropy at one step: what the past of the source adds to the prediction of "
    "the target from its own past. Pale: p is 0.01 or more.";

}  // namespace

std::string HtmlPage(const PlotData& data) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
      "form-action 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>phi: {}</title>\n"
      "<style>{}{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n"
      "<p>Integration over time, with null distributions: the values without integration.</p>\n",
      EscapeXml(data.source), ColorRules(), kStyle, EscapeXml(data.source));
  html += Tiles(data);
  for (const std::string& notice : data.notices) {
    html += fmt::format("<div class=\"notice\">{}</div>\n", EscapeXml(notice));
  }
  html += "<div class=\"cards\">\n";
  for (const Track& track : data.tracks) {
    html += Card(MeasureTitle(track.measure), EscapeXml(TrackCaption(track)),
                 TrackChart(track, data.x_name, 1070), true);
  }
  if (data.pairs) html += Card(kPairTitle, kPairCaption, PairChart(data, *data.pairs, 505), false);
  if (data.partition) {
    html += Card("The minimum information partition", PartitionCaption(data, *data.partition),
                 PartitionChart(data, *data.partition, 505), false);
  }
  return html + fmt::format(
                    "</div>\n<footer>{} rows, by phi plot.</footer>\n</main>\n</body>\n"
                    "</html>\n",
                    data.rows);
}

std::string SvgPicture(const PlotData& data) {
  constexpr double kWidth = 1100;
  constexpr double kLeft = 15;
  double y = 20;
  std::string inside;
  const auto place = [&](const Chart& chart, double x, double top) {
    inside += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">{}</g>\n", x, top, chart.svg);
  };
  const auto title = [&](double x, std::string_view text) {
    inside += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"15\" font-weight=\"600\" "
        "fill=\"var(--ink)\">{}</text>\n",
        x, y + 12, EscapeXml(text));
  };
  for (const Track& track : data.tracks) {
    title(kLeft, MeasureTitle(track.measure));
    const Chart chart = TrackChart(track, data.x_name, kWidth - 2 * kLeft);
    place(chart, kLeft, y + 22);
    y += chart.height + 40;
  }
  double below = 0;
  if (data.pairs) {
    title(kLeft, kPairTitle);
    const Chart chart = PairChart(data, *data.pairs, 520);
    place(chart, kLeft, y + 22);
    below = chart.height + 40;
  }
  if (data.partition) {
    title(kWidth / 2 + kLeft,
          fmt::format("The minimum information partition: {} {} nats", data.partition->measure,
                      FormatShort(data.partition->value)));
    const Chart chart = PartitionChart(data, *data.partition, 500);
    place(chart, kWidth / 2 + kLeft, y + 22);
    below = std::max(below, chart.height + 40);
  }
  const double height = y + below;
  return InLightColors(fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 "
      "{:.0f} {:.0f}\" font-family=\"Inter, 'Segoe UI', 'Liberation Sans', Arial, sans-serif\">\n"
      "<title>phi: {}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"var(--card)\"/>\n{}"
      "</svg>\n",
      kWidth, height, kWidth, height, EscapeXml(data.source), inside));
}

}  // namespace reveza::phi
