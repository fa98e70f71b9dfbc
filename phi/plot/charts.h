// The charts, each an <svg> element that uses CSS colours, and the HTML page or SVG picture of all
// of them, without external resources or scripts. Text is escaped. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "phi/plot/plot_data.h"

namespace reveza::phi {

struct Chart {
  std::string svg;
  double width = 0;
  double height = 0;
};

// Returns the full name of a measure, such as "stochastic interaction".
std::string MeasureTitle(std::string_view measure);

// Formats the range of a band, such as "0.045 to 0.059" or "up to 0.69".
std::string RangeText(const NullBand& band);

// Draws a measure over time with its null band: one line per run for up to eight runs, else the
// median and the central 80 %.
Chart TrackChart(const Track& track, const std::string& x_name, double width);
// Draws transfer entropy from rows to columns as a heat map; insignificant pairs are pale.
Chart PairChart(const PlotData& data, const PairMatrix& pairs, double width);
// Draws the variables on a circle, coloured by part, with arrows for the strongest influences.
Chart PartitionChart(const PlotData& data, const PartitionData& partition, double width);

std::string HtmlPage(const PlotData& data);
// Returns the charts without the explanatory text, in light colours.
std::string SvgPicture(const PlotData& data);

}  // namespace reveza::phi
