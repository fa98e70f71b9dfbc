#include "phi/plot/page.h"

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
// Those of the reports of fraudgen, whose page has the same look.
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

// For programs that know no variables of CSS.
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
  double least = 0, mean = 0, most = 0;
};

Extent ExtentOf(const Track& track) {
  Extent extent;
  double sum = 0;
  std::size_t count = 0;
  for (const auto& run : track.runs) {
    for (const double value : run) {
      if (!std::isfinite(value)) continue;
      extent.least = count == 0 ? value : std::min(extent.least, value);
      extent.most = count == 0 ? value : std::max(extent.most, value);
      sum += value;
      ++count;
    }
  }
  extent.mean = count == 0 ? 0 : sum / static_cast<double>(count);
  return extent;
}

std::string UnitOf(const Track& track) { return track.measure == "phi_legacy" ? "" : " nats"; }

std::string Tile(const std::string& value, const std::string& words) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", Escaped(value),
                     Escaped(words));
}

std::string Tiles(const PlotFacts& facts) {
  std::string html = "<div class=\"tiles\">\n";
  for (const Track& track : facts.tracks) {
    const Extent extent = ExtentOf(track);
    html += Tile(Short(extent.mean) + UnitOf(track),
                 fmt::format("{}: the mean; {} to {}", track.measure, Short(extent.least),
                             Short(extent.most)));
  }
  html += Tile(fmt::format("{}", facts.rows),
               facts.runs > 1 ? fmt::format("rows of {} runs", facts.runs) : "rows");
  return html + "</div>\n";
}

std::string TrackWords(const Track& track) {
  std::string words = track.runs.size() == 1   ? ""
                      : track.runs.size() <= 8 ? fmt::format("{} runs. ", track.runs.size())
                                               : fmt::format(
                                                     "The middle one of {} runs, and where "
                                                     "80 % are. ",
                                                     track.runs.size());
  if (track.null_band) {
    words += fmt::format("Grey: the null, {} ({}); the dashes are its mean.",
                         RangeText(*track.null_band), track.null_band->text);
  } else {
    words += "Its null, what it is where nothing is integrated, is not known.";
  }
  return words;
}

std::string Card(std::string_view title, std::string_view words, const Chart& chart, bool wide) {
  return fmt::format(
      "<section class=\"card{}\"><h2>{}</h2><p>{}</p><div class=\"chart\">{}</div></section>\n",
      wide ? " wide" : "", Escaped(title), words, chart.svg);
}

std::string PartNames(const PlotFacts& facts, const PartitionFacts& partition, int part) {
  std::string names;
  for (std::size_t i = 0; i < facts.variables.size(); ++i) {
    if (partition.part[i] != part) continue;
    if (!names.empty()) names += ", ";
    names += facts.variables[i];
  }
  return Escaped(names);
}

std::string PartitionWords(const PlotFacts& facts, const PartitionFacts& partition) {
  return fmt::format(
      "The division that loses least: {} of {} nats{}. <i class=\"key\" style=\"background: "
      "var(--first)\"></i> {} <i class=\"key\" style=\"background: var(--second)\"></i> {}. "
      "Arrows: "
      "the strongest influences of the matrix.",
      partition.measure, Short(partition.value),
      partition.exact ? "" : ", by an approximate search", PartNames(facts, partition, 0),
      PartNames(facts, partition, 1));
}

constexpr std::string_view kPairTitle = "Who tells of whom";
constexpr std::string_view kPairWords =
    "Transfer entropy from the row to the column, nats: what the one's past says of the other's "
    "present beyond that one's own past (Gaussian, one step). Pale: chance gives as much in one of "
    "a hundred cases or more.";

}  // namespace

std::string HtmlPage(const PlotFacts& facts) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
      "form-action 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>phi: {}</title>\n"
      "<style>{}{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n"
      "<p>How integrated it is over time, beside the null: what a measure is where nothing is "
      "integrated.</p>\n",
      Escaped(facts.source), ColorRules(), kStyle, Escaped(facts.source));
  html += Tiles(facts);
  for (const std::string& notice : facts.notices) {
    html += fmt::format("<div class=\"notice\">{}</div>\n", Escaped(notice));
  }
  html += "<div class=\"cards\">\n";
  for (const Track& track : facts.tracks) {
    html += Card(MeasureTitle(track.measure), Escaped(TrackWords(track)),
                 TrackChart(track, facts.x_name, 1070), true);
  }
  if (facts.pairs) html += Card(kPairTitle, kPairWords, PairChart(facts, *facts.pairs, 505), false);
  if (facts.partition) {
    html += Card("The minimum information partition", PartitionWords(facts, *facts.partition),
                 PartitionChart(facts, *facts.partition, 505), false);
  }
  return html + fmt::format(
                    "</div>\n<footer>{} rows, by phi plot.</footer>\n</main>\n</body>\n"
                    "</html>\n",
                    facts.rows);
}

std::string SvgPicture(const PlotFacts& facts) {
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
        x, y + 12, Escaped(text));
  };
  for (const Track& track : facts.tracks) {
    title(kLeft, MeasureTitle(track.measure));
    const Chart chart = TrackChart(track, facts.x_name, kWidth - 2 * kLeft);
    place(chart, kLeft, y + 22);
    y += chart.height + 40;
  }
  double below = 0;
  if (facts.pairs) {
    title(kLeft, kPairTitle);
    const Chart chart = PairChart(facts, *facts.pairs, 520);
    place(chart, kLeft, y + 22);
    below = chart.height + 40;
  }
  if (facts.partition) {
    title(kWidth / 2 + kLeft, fmt::format("The minimum information partition: {} {} nats",
                                          facts.partition->measure, Short(facts.partition->value)));
    const Chart chart = PartitionChart(facts, *facts.partition, 500);
    place(chart, kWidth / 2 + kLeft, y + 22);
    below = std::max(below, chart.height + 40);
  }
  const double height = y + below;
  return InLightColors(fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 "
      "{:.0f} {:.0f}\" font-family=\"Inter, 'Segoe UI', 'Liberation Sans', Arial, sans-serif\">\n"
      "<title>phi: {}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"var(--card)\"/>\n{}"
      "</svg>\n",
      kWidth, height, kWidth, height, Escaped(facts.source), inside));
}

}  // namespace reveza::phi
