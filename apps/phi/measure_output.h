// How measures are shown: as a table, as JSON, as CSV. Pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "phi/measures/granger.h"
#include "phi/measures/legacy.h"
#include "phi/measures/minimum_partition.h"
#include "phi/measures/significance.h"
#include "phi/measures/window.h"

namespace reveza::phi {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

// One measure, with what was asked for beside it.
struct MeasuredValue {
  WindowValue value;
  std::optional<double> bias = {};
  std::optional<Significance> significance = {};
  std::optional<Interval> interval = {};
};

// One window of a series: rows [first, last].
struct MeasuredWindow {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::vector<WindowValue> values = {};
  std::optional<double> legacy = {};
};

// A table: measure, nats, partition, and the columns that some value has.
std::string TableOf(const std::vector<MeasuredValue>& values, const Names& names);
Json JsonOf(const std::vector<MeasuredValue>& values, const Names& names);
std::string CsvOf(const std::vector<MeasuredValue>& values, const Names& names);

// Columns window, first_row, last_row, then each measure and, where there is one, its partition.
std::string CsvOf(const std::vector<MeasuredWindow>& windows, const Names& names);
Json JsonOf(const std::vector<MeasuredWindow>& windows, const Names& names);

std::string TextOf(const std::vector<Complex>& complexes, Measure measure, const Names& names);
Json JsonOf(const std::vector<Complex>& complexes, const Names& names);

std::string TextOf(const Granger& granger, const Names& names);
Json JsonOf(const Granger& granger, const Names& names);

}  // namespace reveza::phi
