#include "phi/run/run_measures.h"

#include <algorithm>
#include <utility>

namespace reveza::phi {
namespace {

// Cycles that fill the records of the legacy phi: 200 records, 30 pairs per cycle.
constexpr std::size_t kLegacyCycles =
    (kLegacyRecords + kModules * (kModules - 1) - 1) / (kModules * (kModules - 1));

// The buffer grows to this many times the retained samples before old ones are dropped.
constexpr std::size_t kBufferFactor = 4;

// Fixed overhead of a run: its objects, allocations and list of samples.
constexpr Bytes kOwnBytes = 1024;
// The records of the legacy phi, plus one cycle, in the chunks of a deque.
constexpr Bytes kLegacyBytes =
    (kLegacyRecords + kModules * (kModules - 1)) * sizeof(LegacyRecord) + 1024;

// Returns the maximum number of buffered samples, which never exceeds the number of cycles.
std::size_t MaxBufferedSamples(const RunSettings& settings) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(
      kBufferFactor * RunMeasures::RetainedSamples(settings), settings.cycles));
}

}  // namespace

std::size_t RunMeasures::RetainedSamples(const RunSettings& settings) {
  const std::size_t legacy = settings.legacy ? kLegacyWindow + kLegacyCycles : 0;
  const std::size_t others =
      settings.measures.empty() ? 0 : static_cast<std::size_t>(settings.window);
  return std::max(legacy, others);
}

Bytes RunMeasures::MaxBytes(const RunSettings& settings) {
  const Bytes held = MaxBufferedSamples(settings) * 2 * kModules * sizeof(double);
  // Once as collected, once as serialised.
  const Bytes samples = settings.Keeps() ? 2 * RetainedSamples(settings) * sizeof(CycleSample) : 0;
  const Bytes all = held + samples + (settings.legacy ? kLegacyBytes : 0) + kOwnBytes;
  // Allow for heap fragmentation.
  return all + all / 16;
}

bool RunMeasures::IsDue(const RunSettings& settings, std::size_t measure, std::uint64_t cycle) {
  if (settings.legacy && measure == 0) return cycle >= kLegacyMinStates;
  return cycle >= static_cast<std::uint64_t>(settings.window) &&
         cycle % static_cast<std::uint64_t>(settings.every) == 0;
}

RunMeasures::RunMeasures(const RunSettings& settings)
    : settings_(settings), retained_(RetainedSamples(settings)) {
  options_.measures = settings.measures;
  options_.estimate.lag = settings.lag;
  if (settings.minimum) options_.minimum.emplace();
  // Reserve exactly what MaxBytes() counts.
  means_.reserve(MaxBufferedSamples(settings) * kModules);
  firsts_.reserve(MaxBufferedSamples(settings) * kModules);
}

void RunMeasures::Push(const CycleSample& sample) {
  for (int module = 0; module < kModules; ++module) {
    means_.push_back(sample.mean[module]);
    firsts_.push_back(sample.first[module]);
  }
  // Drop old samples in bulk, so that the rest is not moved on every call.
  if (means_.size() >= kBufferFactor * retained_ * kModules) {
    const auto old = static_cast<std::ptrdiff_t>(means_.size() - retained_ * kModules);
    means_.erase(means_.begin(), means_.begin() + old);
    firsts_.erase(firsts_.begin(), firsts_.begin() + old);
  }
}

SeriesView RunMeasures::Last(const std::vector<double>& values, std::size_t rows,
                             std::size_t skipped) const {
  return {.values = values.data() + values.size() - (rows + skipped) * kModules,
          .length = static_cast<std::int64_t>(rows),
          .variables = kModules,
          .stride = kModules};
}

Status RunMeasures::AddLegacy(std::uint64_t cycle, std::size_t skipped) {
  if (cycle < kLegacyMinStates) return {};
  const auto rows = static_cast<std::size_t>(std::min<std::uint64_t>(cycle, kLegacyWindow));
  ASSIGN_OR_RETURN(workspace_, legacy_.Add(Last(firsts_, rows, skipped)));
  return {};
}

Status RunMeasures::Add(std::uint64_t cycle, const Observation& observation,
                        std::span<double> values) {
  if (values.empty()) return {};
  CycleSample sample = {};
  std::ranges::copy(observation.mean, sample.mean);
  std::ranges::copy(observation.first, sample.first);
  Push(sample);
  std::ranges::fill(values, kNotAvailable);
  std::size_t next = 0;
  if (settings_.legacy) {
    RETURN_IF_ERROR(AddLegacy(cycle, 0));
    if (cycle >= kLegacyMinStates) {
      values[0] = LegacyCombined(workspace_, observation.rho_correlation);
    }
    next = 1;
  }
  if (settings_.measures.empty() || !IsDue(settings_, next, cycle)) return {};
  return Measure(values.subspan(next));
}

// Computes all measures together, which share the estimate; a window that is too nearly singular
// fails for all of them.
Status RunMeasures::Measure(std::span<double> values) {
  const auto all =
      MeasureWindow(Last(means_, static_cast<std::size_t>(settings_.window), 0), options_);
  if (!all) return std::unexpected(all.error());
  std::string missing;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = (*all)[i].value;
    if (!(*all)[i].missing.empty()) missing = (*all)[i].missing;
  }
  if (!missing.empty()) return InvalidArgument(std::move(missing));
  return {};
}

std::vector<std::optional<Significance>> RunMeasures::Nulls(int threads) const {
  constexpr int kSurrogates = 99;
  std::vector<std::optional<Significance>> none(settings_.measures.size());
  const auto rows = static_cast<std::size_t>(settings_.window);
  if (none.empty() || means_.size() < rows * kModules) return none;
  const SeriesView last = Last(means_, rows, 0);
  const auto measured = MeasureWindow(last, options_);
  if (!measured) return none;
  const SurrogateOptions surrogates = {.count = kSurrogates, .threads = threads};
  auto tested = TestAgainstSurrogates({&last, 1}, options_, *measured, surrogates);
  if (!tested) return none;
  for (auto& test : *tested) {
    if (test && !test->missing.empty()) test.reset();
  }
  return *std::move(tested);
}

std::vector<CycleSample> RunMeasures::Samples() const {
  const std::size_t rows = std::min(retained_, means_.size() / kModules);
  std::vector<CycleSample> samples(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t from = means_.size() - (rows - i) * kModules;
    for (std::size_t module = 0; module < kModules; ++module) {
      samples[i].mean[module] = static_cast<float>(means_[from + module]);
      samples[i].first[module] = static_cast<float>(firsts_[from + module]);
    }
  }
  return samples;
}

Status RunMeasures::Restore(std::uint64_t cycle, std::span<const CycleSample> samples) {
  means_.clear();
  firsts_.clear();
  for (const CycleSample& sample : samples) Push(sample);
  legacy_ = {};
  if (!settings_.legacy) return {};
  const auto last = static_cast<std::size_t>(std::min<std::uint64_t>(cycle, kLegacyCycles));
  for (std::size_t skipped = last; skipped-- > 0;) {
    RETURN_IF_ERROR(AddLegacy(cycle - skipped, skipped));
  }
  return {};
}

}  // namespace reveza::phi
