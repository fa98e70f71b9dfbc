// Formats the tuner's results. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "reveza/jobs/decide/tuner.h"

namespace reveza::jobs {

// Formats a table of workers, steps/s, gain and memory, with the current number marked, followed by
// an explanation of the peak (ScalabilityText) if there are enough rows. Empty without
// measurements.
std::string TuningTable(std::span<const TunerRow> rows, unsigned workers, unsigned max_workers);

// Formats the line for a single measured number; `reason` tells why there is no other.
std::string SingleCountText(const TunerRow& row, std::string_view reason);

// Formats the decisions, one per line with the time since `start`.
std::string TuningLog(std::span<const Decision> log, std::chrono::nanoseconds start);

// Explains why more workers stop paying off, by fitting the universal scalability law (N. Gunther,
// "Guerrilla Capacity Planning", 2007) to the measured throughputs:
//
//   X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))
//
// lambda: throughput of one worker; sigma: contention, the serialised share of the work; kappa:
// coherency, the cost per pair of workers. The peak is at sqrt((1 - sigma) / kappa).
//
// For reports only; the tuner (tuner.h) chooses the number of workers by measuring. Pure functions.
inline constexpr std::size_t kMinScalabilityPoints = 6;

struct ScalabilityPoint {
  double workers = 1;
  double rate = 0;    // > 0
  double weight = 1;  // > 0: e.g. the number of measured steps
};

struct Scalability {
  double lambda = 0;
  double sigma = 0;
  double kappa = 0;
  std::optional<double> peak{};  // workers; absent if the curve never turns down
  double error = 0;              // weighted RMS relative error of the fit
  bool good = false;             // small error, or explains most of the variance

  double At(double workers) const;
};

// Fits by weighted least squares on relative errors, with sigma and kappa >= 0. Empty with fewer
// than kMinScalabilityPoints distinct numbers of workers.
std::optional<Scalability> FitScalability(std::span<const ScalabilityPoint> points);

// Describes the fit: "peak at 3, because workers queue for 10 % of the work and ...", or that the
// law does not fit. `max_workers`: the largest number allowed.
std::string ScalabilityText(const Scalability& fit, unsigned max_workers);

}  // namespace reveza::jobs
