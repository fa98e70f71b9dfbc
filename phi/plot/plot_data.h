// The data of all charts, computed from a table. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "phi/measures/measures.h"
#include "phi/plot/table_file.h"

namespace reveza::phi {

// The null distribution of a measure: its values without integration.
struct NullBand {
  double low = 0;  // -infinity if only the upper end is known
  double mean = 0;
  double high = 0;
  std::string text;  // how the band was computed
};

// One measure over time.
struct Track {
  std::string measure;
  std::vector<double> x;
  std::vector<std::vector<double>> runs;  // as long as x each; NaN if not available
  std::optional<NullBand> null_band;
};

// Gaussian transfer entropy in nats, row-major with rows as sources and columns as targets, and the
// p-values against independent variables.
struct PairMatrix {
  std::vector<double> transfer;
  std::vector<double> p;
};

struct PartitionData {
  std::vector<int> part;  // 0 or 1, by variable
  double value = 0;       // nats
  std::string measure;
  bool exact = true;
};

struct PlotData {
  std::string source;
  std::string x_name;  // "cycle", "row"
  std::size_t rows = 0;
  std::size_t runs = 1;
  std::vector<Track> tracks;
  std::vector<std::string> variables;
  std::optional<PairMatrix> pairs;
  std::optional<PartitionData> partition;
  std::vector<std::string> notices;  // charts that could not be drawn, and why
};

struct PlotOptions {
  // Measures to compute in windows if the table is a plain time series.
  std::vector<Measure> measures = {Measure::kStochasticInteraction, Measure::kPhiG};
  int window = 0;  // rows; 0: the run's window, else 50 (time series: a tenth, at least 50)
  Measure partition_measure = Measure::kStochasticInteraction;
  int surrogates = 99;  // for null bands; 0 draws only that of phi_legacy
  int threads = 1;      // does not affect results
};

// Computes the data of all charts. `source` is the title. Returns kInvalidArgument if nothing in
// the table can be drawn.
Result<PlotData> MakePlotData(const PlotTable& table, const std::string& source,
                              const PlotOptions& options);

}  // namespace reveza::phi
