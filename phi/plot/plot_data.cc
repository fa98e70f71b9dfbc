#include "phi/plot/plot_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "phi/measures/estimate.h"
#include "phi/measures/granger.h"
#include "phi/measures/legacy.h"
#include "phi/measures/minimum_partition.h"
#include "phi/measures/significance.h"
#include "phi/measures/sliding_windows.h"
#include "phi/measures/window.h"
#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

constexpr std::string_view kLegacy = "phi_legacy";
constexpr std::string_view kMean = "mean_";
constexpr int kUsualWindow = 50;
constexpr int kModulesOfRun = 6;
constexpr std::size_t kMaxVariables = 64;
constexpr std::size_t kMaxWindows = 400;

bool IsMeasure(std::string_view name) { return name == kLegacy || ParseMeasure(name).has_value(); }

bool IsStructure(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames = {"run",       "cycle",    "hash",   "window",
                                                      "first_row", "last_row", "missing"};
  return std::ranges::find(kNames, name) != kNames.end() || name.ends_with("_partition") ||
         name.starts_with("rho_");
}

std::vector<std::size_t> VariableColumns(const PlotTable& table) {
  const bool has_means = std::ranges::any_of(
      table.names, [](const std::string& name) { return name.starts_with(kMean); });
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < table.names.size(); ++i) {
    const std::string& name = table.names[i];
    if (has_means ? !name.starts_with(kMean) : IsMeasure(name) || IsStructure(name)) continue;
    chosen.push_back(i);
  }
  return chosen;
}

// Returns the variables of the first run.
SeriesTable FirstRun(const PlotTable& table, const std::vector<std::size_t>& columns) {
  SeriesTable variables;
  for (const std::size_t column : columns) {
    const std::string& name = table.names[column];
    variables.names.push_back(name.starts_with(kMean) ? name.substr(kMean.size()) : name);
  }
  const std::vector<double>* const run = table.Find("run");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (run != nullptr && (*run)[row] != run->front()) continue;
    for (const std::size_t column : columns) variables.values.push_back(table.columns[column][row]);
    if (!table.lines.empty()) variables.lines.push_back(table.lines[row]);
  }
  return variables;
}

// Returns the column of time, if any, and its display name.
const std::vector<double>* TimeOf(const PlotTable& table, std::string* name) {
  for (const char* wanted : {"cycle", "last_row", "window"}) {
    if (const auto* found = table.Find(wanted)) {
      *name = std::string_view(wanted) == "last_row" ? "row" : wanted;
      return found;
    }
  }
  *name = "row";
  return nullptr;
}

// Returns the column of a measure, by run; nothing if it has no finite value.
std::optional<Track> TrackOf(const PlotTable& table, std::size_t column,
                             const std::vector<double>* time) {
  std::map<double, std::size_t> places;
  std::map<double, std::size_t> runs;
  const std::vector<double>* const run = table.Find("run");
  const std::vector<double>& values = table.columns[column];
  const auto time_of = [&](std::size_t row) {
    return time == nullptr ? static_cast<double>(row) : (*time)[row];
  };
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (!std::isfinite(values[row]) || !std::isfinite(time_of(row))) continue;
    places.emplace(time_of(row), 0);
    runs.emplace(run == nullptr ? 0 : (*run)[row], 0);
  }
  if (places.empty()) return std::nullopt;
  Track track;
  track.measure = table.names[column];
  for (auto& [at, place] : places) {
    place = track.x.size();
    track.x.push_back(at);
  }
  for (auto& [number, place] : runs) {
    place = track.runs.size();
    track.runs.emplace_back(track.x.size(), std::nan(""));
  }
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (!std::isfinite(values[row]) || !std::isfinite(time_of(row))) continue;
    track.runs[runs[run == nullptr ? 0 : (*run)[row]]][places[time_of(row)]] = values[row];
  }
  return track;
}

// Measures sliding windows of a plain time series.
Status MeasureWindows(const SeriesView& series, int window, const PlotOptions& options,
                      PlotData* data) {
  WindowOptions wanted;
  wanted.measures = options.measures;
  wanted.estimate.names = data->variables;
  const std::int64_t places = series.length - window;
  if (places < 0) {
    return InvalidArgument("{} rows are fewer than one window of {}; use a smaller --window",
                           series.length, window);
  }
  const std::int64_t step =
      std::max<std::int64_t>(1, places / static_cast<std::int64_t>(kMaxWindows));
  for (const Measure measure : options.measures) {
    data->tracks.push_back({std::string(NameOf(measure)), {}, {{}}, std::nullopt});
  }
  ASSIGN_OR_RETURN(const auto windows,
                   MeasureSliding({&series, 1}, wanted, {.length = window, .step = step}));
  for (const MeasuredWindow& measured : windows) {
    for (std::size_t i = 0; i < measured.values.size(); ++i) {
      data->tracks[i].x.push_back(static_cast<double>(measured.last));
      data->tracks[i].runs[0].push_back(measured.values[i].value);
    }
  }
  return {};
}

constexpr std::string_view kUnknown =
    "the dimension, lag and partition of the run are unknown; give its folder, with "
    "summary.json";

// Adds the null band of phi_legacy as runs compute it, combined from the modules and the triple.
void AddLegacyBand(const std::optional<RunParameters>& run, Track& track, PlotData* data) {
  if (!run) {
    data->notices.push_back(fmt::format("no null band of phi_legacy: {}", kUnknown));
    return;
  }
  const LegacyNull band = LegacyCombinedNullOf(kModulesOfRun, run->dimension);
  track.null_band = {
      band.low, band.mean, band.high,
      fmt::format("95 % of independent noise: {} modules in windows of {}, and a triple of "
                  "dimension {} in windows of {}",
                  kModulesOfRun, kLegacyWindow, run->dimension, kLegacyTripleWindow)};
}

// Adds null bands from surrogates of the last window, each variable shifted in time, measured with
// the same options as the values.
void AddSurrogateBands(const SeriesView& series, int window, WindowOptions wanted,
                       const PlotOptions& options, PlotData* data) {
  std::vector<Track*> tracks;
  wanted.measures.clear();
  for (Track& track : data->tracks) {
    const auto measure = ParseMeasure(track.measure);
    if (!measure || *measure == Measure::kInformation || track.null_band) continue;
    wanted.measures.push_back(*measure);
    tracks.push_back(&track);
  }
  if (tracks.empty() || options.surrogates == 0 || series.length < window) return;
  const SeriesView last = series.Part(series.length - window, window);
  const auto measured = MeasureWindow(last, wanted);
  if (!measured) return;
  SurrogateOptions surrogates;
  surrogates.count = options.surrogates;
  surrogates.threads = options.threads;
  const auto tested = TestAgainstSurrogates({&last, 1}, wanted, *measured, surrogates);
  if (!tested) {
    data->notices.push_back("no null bands: " + tested.error().message);
    return;
  }
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    if (!(*tested)[i] || !(*tested)[i]->missing.empty()) continue;
    const Significance& found = *(*tested)[i];
    tracks[i]->null_band = {
        -std::numeric_limits<double>::infinity(), found.null_mean, found.null_high,
        fmt::format("95 % of {} surrogates of the last window, each variable shifted in time",
                    options.surrogates)};
  }
}

// Returns the options with which the tracks were measured; nothing if they are unknown.
std::optional<WindowOptions> MeasurementOptions(const PlotTable& table, bool measured) {
  WindowOptions how;
  if (!measured) return how;
  if (!table.run) return std::nullopt;
  how.estimate.lag = table.run->lag;
  if (table.run->minimum) how.minimum.emplace();
  return how;
}

void AddPairsAndPartition(const SeriesView& series, const PlotOptions& options, PlotData* data) {
  const auto estimate = EstimateModel(series, {.names = data->variables});
  if (!estimate) {
    data->notices.push_back("no matrix of pairs and no partition: " + estimate.error().message);
    return;
  }
  const Granger granger = GrangerOf(estimate->model, GrangerKind::kPair, estimate->samples);
  PairMatrix pairs;
  for (int from = 0; from < series.variables; ++from) {
    for (int to = 0; to < series.variables; ++to) {
      pairs.transfer.push_back(TransferEntropyOf(granger.causality(from, to)));
      pairs.p.push_back(granger.p ? (*granger.p)(from, to) : 1.0);
    }
  }
  data->pairs = std::move(pairs);
  SearchOptions search;
  constexpr int kExhaustive = 18;
  if (series.variables > kExhaustive) search.method = SearchMethod::kQueyranne;
  PartitionSearch partitions(estimate->model, search);
  const auto minimum = partitions.Minimum(options.partition_measure);
  if (!minimum) {
    data->notices.push_back("no minimum partition: " + minimum.error().message);
    return;
  }
  PartitionData partition;
  partition.part.resize(static_cast<std::size_t>(series.variables));
  for (const int variable : minimum->partition.parts()[1]) {
    partition.part[variable] = 1;
  }
  partition.value = minimum->value;
  partition.measure = NameOf(options.partition_measure);
  partition.exact = minimum->exact;
  data->partition = std::move(partition);
}

int WindowFor(const PlotTable& table, const PlotOptions& options, bool measured,
              std::int64_t length) {
  if (options.window > 0) return options.window;
  if (measured) return table.run ? table.run->window : kUsualWindow;
  return static_cast<int>(std::clamp<std::int64_t>(length / 10, kUsualWindow, 100'000));
}

}  // namespace

Result<PlotData> MakePlotData(const PlotTable& table, const std::string& source,
                              const PlotOptions& options) {
  PlotData data;
  data.source = source;
  data.rows = table.rows();
  const std::vector<double>* const time = TimeOf(table, &data.x_name);
  for (std::size_t column = 0; column < table.names.size(); ++column) {
    if (!IsMeasure(table.names[column])) continue;
    if (auto track = TrackOf(table, column, time)) {
      data.runs = std::max(data.runs, track->runs.size());
      data.tracks.push_back(std::move(*track));
    }
  }
  const auto columns = VariableColumns(table);
  if (columns.size() > kMaxVariables) {
    return InvalidArgument("{} variables are too many to plot; use at most {}", columns.size(),
                           kMaxVariables);
  }
  const SeriesTable variables = FirstRun(table, columns);
  data.variables = variables.names;
  const bool measured = !data.tracks.empty();
  const int window = WindowFor(table, options, measured, variables.length());
  if (!measured && columns.size() >= 2) {
    if (const std::string missing = variables.FirstMissing(); !missing.empty()) {
      return InvalidArgument("{} {}; leave out or fill in rows that are not known", source,
                             missing);
    }
    RETURN_IF_ERROR(MeasureWindows(variables.View(), window, options, &data));
  }
  for (Track& track : data.tracks) {
    if (track.measure == kLegacy) AddLegacyBand(table.run, track, &data);
  }
  if (columns.size() >= 2) {
    if (const auto how = MeasurementOptions(table, measured)) {
      AddSurrogateBands(variables.View(), window, *how, options, &data);
    } else if (options.surrogates > 0) {
      data.notices.push_back(fmt::format("no null bands: {}", kUnknown));
    }
    AddPairsAndPartition(variables.View(), options, &data);
  }
  if (data.tracks.empty()) {
    return InvalidArgument(
        "{} has nothing to draw: it needs columns of measures (phi_legacy, si, phi_r, ...) or at "
        "least two numeric columns",
        source);
  }
  return data;
}

}  // namespace reveza::phi
