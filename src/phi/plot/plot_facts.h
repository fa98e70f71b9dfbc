// What is drawn of a table, as numbers.
// Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "phi/measures/measures.h"
#include "phi/plot/table_file.h"

namespace reveza::phi {

// What a measure gives where there is nothing to be measured.
struct NullBand {
  double low = 0;  // minus infinity where only the upper end is known
  double mean = 0;
  double high = 0;
  std::string text;  // how it was found
};

// One measure over time.
struct Track {
  std::string measure;
  std::vector<double> x;
  std::vector<std::vector<double>> runs;  // as long as x each; not a number: not available
  std::optional<NullBand> null_band;
};

// What the past of one variable says of another's present (Gaussian transfer entropy, nats), row by
// row of who tells; and the chance that independent variables give as much.
struct PairMatrix {
  std::vector<double> transfer;
  std::vector<double> p;
};

struct PartitionFacts {
  std::vector<int> part;  // 0 or 1, of each variable
  double value = 0;       // nats
  std::string measure;
  bool exact = true;
};

struct PlotFacts {
  std::string source;
  std::string x_name;  // "cycle", "row"
  std::size_t rows = 0;
  std::size_t runs = 1;
  std::vector<Track> tracks;
  std::vector<std::string> variables;
  std::optional<PairMatrix> pairs;
  std::optional<PartitionFacts> partition;
  std::vector<std::string> notices;  // what could not be drawn, and why
};

struct PlotOptions {
  // Of a series without columns of measures: what to measure in windows.
  std::vector<Measure> measures = {Measure::kStochasticInteraction, Measure::kPhiG};
  int window = 0;  // rows; 0: what the run's summary says, else 50 (a series: a tenth, 50 or more)
  Measure partition_measure = Measure::kStochasticInteraction;
  int surrogates = 99;  // for null bands; 0: none but that of phi_legacy
  int threads = 1;      // which changes no number
};

// Error: nothing in the table can be drawn.
Result<PlotFacts> PlotFactsOf(const PlotTable& table, const std::string& source,
                              const PlotOptions& options);

}  // namespace reveza::phi
