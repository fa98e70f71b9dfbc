#include "phi/run/measuring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace reveza::phi {
namespace {

// So many cycles fill the records of the legacy phi: 200 of 30 pairs a cycle.
constexpr std::size_t kLegacyCycles =
    (kLegacyRecords + kModules * (kModules - 1) - 1) / (kModules * (kModules - 1));

// So many times what is kept is held before the old goes.
constexpr std::size_t kHeld = 4;

// Of a run's objects beside its rows, of their allocations, and of its glances' list.
constexpr Bytes kOwnBytes = 1024;
// The records of the legacy phi, and a cycle's more, in the chunks of a deque.
constexpr Bytes kLegacyBytes =
    (kLegacyRecords + kModules * (kModules - 1)) * sizeof(LegacyRecord) + 1024;

// Glances that are held at a time: no more than there are cycles.
std::size_t MostHeld(const RunSettings& settings) {
  return static_cast<std::size_t>(
      std::min<std::uint64_t>(kHeld * RunMeasures::KeptOf(settings), settings.cycles));
}

}  // namespace

std::size_t RunMeasures::KeptOf(const RunSettings& settings) {
  const std::size_t legacy = settings.legacy ? kLegacyWindow + kLegacyCycles : 0;
  const std::size_t others =
      settings.measures.empty() ? 0 : static_cast<std::size_t>(settings.window);
  return std::max(legacy, others);
}

Bytes RunMeasures::MostBytes(const RunSettings& settings) {
  const Bytes held = MostHeld(settings) * 2 * kModules * sizeof(double);
  // As they are collected, and as the text that is written.
  const Bytes glances = settings.Keeps() ? 2 * KeptOf(settings) * sizeof(Glance) : 0;
  const Bytes all = held + glances + (settings.legacy ? kLegacyBytes : 0) + kOwnBytes;
  // Thousands of lists that come and go leave gaps.
  return all + all / 16;
}

bool RunMeasures::IsDue(const RunSettings& settings, std::size_t measure, std::uint64_t cycle) {
  if (settings.legacy && measure == 0) return cycle >= kLegacyLeastStates;
  return cycle >= static_cast<std::uint64_t>(settings.window) &&
         cycle % static_cast<std::uint64_t>(settings.every) == 0;
}

RunMeasures::RunMeasures(const RunSettings& settings)
    : settings_(settings), kept_(KeptOf(settings)) {
  options_.measures = settings.measures;
  options_.estimate.lag = settings.lag;
  if (settings.minimum) options_.minimum.emplace();
  // No more than that, which MostBytes counts.
  means_.reserve(MostHeld(settings) * kModules);
  firsts_.reserve(MostHeld(settings) * kModules);
}

void RunMeasures::Push(const Glance& glance) {
  for (int module = 0; module < kModules; ++module) {
    means_.push_back(glance.mean[module]);
    firsts_.push_back(glance.first[module]);
  }
  // Now and then what is too old goes, so that the rest need not move every time.
  if (means_.size() >= kHeld * kept_ * kModules) {
    const auto old = static_cast<std::ptrdiff_t>(means_.size() - kept_ * kModules);
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
  if (cycle < kLegacyLeastStates) return {};
  const auto rows = static_cast<std::size_t>(std::min<std::uint64_t>(cycle, kLegacyWindow));
  const auto added = legacy_.Add(Last(firsts_, rows, skipped));
  if (!added) return std::unexpected(added.error());
  workspace_ = *added;
  return {};
}

Status RunMeasures::Add(std::uint64_t cycle, const Observation& observation,
                        std::span<double> values) {
  if (values.empty()) return {};
  Glance glance = {};
  std::ranges::copy(observation.mean, glance.mean);
  std::ranges::copy(observation.first, glance.first);
  Push(glance);
  std::ranges::fill(values, kNotAvailable);
  std::size_t next = 0;
  if (settings_.legacy) {
    if (auto added = AddLegacy(cycle, 0); !added) return added;
    if (cycle >= kLegacyLeastStates) {
      values[0] = LegacyCombined(workspace_, observation.rho_correlation);
    }
    next = 1;
  }
  if (settings_.measures.empty() || !IsDue(settings_, next, cycle)) return {};
  return Measure(values.subspan(next));
}

// All at once, which shares what they have in common: where the window is too nearly singular for
// one, it is for all.
Status RunMeasures::Measure(std::span<double> values) {
  const auto all =
      MeasureWindow(Last(means_, static_cast<std::size_t>(settings_.window), 0), options_);
  if (!all) return std::unexpected(all.error());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = all->values[i].value;
    if (!std::isfinite(value)) {
      std::ranges::fill(values, kNotAvailable);
      return Fail(Error::Code::kInternal,
                  fmt::format("{} is not a finite number", NameOf(options_.measures[i])));
    }
    values[i] = value;
  }
  return {};
}

std::vector<Glance> RunMeasures::Glances() const {
  const std::size_t rows = std::min(kept_, means_.size() / kModules);
  std::vector<Glance> glances(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t from = means_.size() - (rows - i) * kModules;
    for (std::size_t module = 0; module < kModules; ++module) {
      glances[i].mean[module] = static_cast<float>(means_[from + module]);
      glances[i].first[module] = static_cast<float>(firsts_[from + module]);
    }
  }
  return glances;
}

Status RunMeasures::Restore(std::uint64_t cycle, std::span<const Glance> glances) {
  means_.clear();
  firsts_.clear();
  for (const Glance& glance : glances) Push(glance);
  legacy_ = {};
  if (!settings_.legacy) return {};
  const auto last = static_cast<std::size_t>(std::min<std::uint64_t>(cycle, kLegacyCycles));
  for (std::size_t skipped = last; skipped-- > 0;) {
    if (auto added = AddLegacy(cycle - skipped, skipped); !added) return added;
  }
  return {};
}

}  // namespace reveza::phi
