// Why more workers stop paying: a fit of the universal scalability law (N. Gunther, "Guerrilla
// Capacity Planning", 2007) to what was measured at several numbers of workers:
//
//   X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))
//
// lambda: throughput of one; sigma: the part of the work for which workers queue; kappa: what each
// pair of them costs by disturbing each other. The peak is at sqrt((1 - sigma) / kappa).
//
// For reports. To choose a number of workers, a law is a poor guide: that is the tuner's.
// Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace reveza::runner {

inline constexpr std::size_t kFewestCounts = 6;

struct ScalabilityPoint {
  double workers = 1;
  double rate = 0;    // above 0
  double weight = 1;  // above 0: steps that were measured, say
};

struct Scalability {
  double lambda = 0;
  double sigma = 0;
  double kappa = 0;
  std::optional<double> peak{};  // workers; absent where more always help, or nothing ever does
  double error = 0;              // by which rates are off the curve, as a share (weighted RMS)
  bool good = false;             // the curve says more than the mean does, and is off by little

  double At(double workers) const;
};

// By weighted least squares on relative errors, with sigma and kappa not below 0. Nothing with
// fewer than six different numbers of workers.
std::optional<Scalability> FitScalability(std::span<const ScalabilityPoint> points);

// "peak at 3, because workers queue for 10 % of the work and ..."; or that nothing fits. `most`:
// the largest number of workers that was allowed.
std::string ScalabilityText(const Scalability& fit, unsigned most, std::string_view unit = "steps");

}  // namespace reveza::runner
