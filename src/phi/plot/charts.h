// The pictures, each one <svg> element whose colors are the page's (page.h). Texts are escaped.
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "phi/plot/plot_facts.h"

namespace reveza::phi {

struct Chart {
  std::string svg;
  double width = 0;
  double height = 0;
};

// What a measure is called in a sentence: "stochastic interaction (si)".
std::string MeasureTitle(std::string_view measure);

// "0.045 to 0.059", "up to 0.69".
std::string RangeText(const NullBand& band);

// A measure over time: a line a run for few runs, else the middle one and where 80 % are; its null
// band behind.
Chart TrackChart(const Track& track, const std::string& x_name, double width);
// Squares: who tells (rows) whom (columns); those that chance explains are pale.
Chart PairChart(const PlotFacts& facts, const PairMatrix& pairs, double width);
// The variables on a circle, in the colors of their part, with the strongest influences.
Chart PartitionChart(const PlotFacts& facts, const PartitionFacts& partition, double width);

}  // namespace reveza::phi
