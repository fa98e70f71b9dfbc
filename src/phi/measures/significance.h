// How much of a value may be chance: bias, surrogate tests, bootstrap intervals.
//
// Thread-safety: pure functions; replicates are numbered, so any number of threads gives the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/measures.h"
#include "phi/measures/partition.h"
#include "phi/measures/series.h"
#include "phi/measures/window.h"

namespace reveza::phi {

// What a measure is too high, on average, because covariances were estimated from `samples` pairs
// as if these were independent; nats. From E log |S| = log |Sigma| + sum_i psi((samples - i) / 2) +
// a constant for each dimension (Goodman 1963; Misra, Singh, Demchuk 2005, J Multivar Anal 92:324);
// for phi_g, whose test statistic is a likelihood ratio, from Wilks' theorem: 1 / (2 samples) for
// each element of A that the partition forbids. None for phi_star, of which no formula is known:
// compare it with surrogates. Correlated samples are worth fewer: the bias is larger then.
std::optional<double> BiasOf(const GaussianModel& model, const Partition& partition,
                             Measure measure, std::int64_t samples);

// How surrogates break what joins the parts and keep the rest.
enum class SurrogateKind {
  kShift,  // each part is moved in a circle by a random time: keeps all of a part but one joint
  kPhase,  // each part's Fourier phases are turned at random, its variables by the same angles:
           // keeps spectra and cross-spectra within a part (Prichard & Theiler 1994, Phys Rev Lett
           // 73:951)
};
Result<SurrogateKind> SurrogateKindOf(std::string_view name);  // "shift", "phase"

struct SurrogateOptions {
  SurrogateKind kind = SurrogateKind::kShift;
  int count = 0;
  std::uint64_t seed = 1;
  int threads = 1;
};

struct Significance {
  double null_mean = 0.0;
  double null_high = 0.0;  // 95 % of surrogates are below
  double p = 1.0;          // (1 + surrogates at or above the value) / (1 + surrogates)
  int surrogates = 0;
};

// For each of `values`, which MeasureWindow gave for these trials and options: the same computed
// for surrogates, searches included. Parts that are moved are those of options.partition; with a
// search, or without a partition, each variable is moved alone. For i the null keeps what each part
// says of itself. Errors: those of MeasureWindow.
Result<std::vector<Significance>> TestAgainstSurrogates(std::span<const SeriesView> trials,
                                                        const WindowOptions& options,
                                                        std::span<const WindowValue> values,
                                                        const SurrogateOptions& surrogates);

struct BootstrapOptions {
  int count = 0;
  std::int64_t block = 0;  // pairs in a block; 0: the cube root of the samples, rounded up
  std::uint64_t seed = 1;
  int threads = 1;
};

struct Interval {
  double low = 0.0;
  double high = 0.0;
  int replicates = 0;
  std::int64_t block = 0;
};

// For each of `values`, which MeasureWindow gave for these trials and options: the reverse interval
// of a moving block bootstrap (Kuensch 1989, Ann Stat 17:1217; Davison & Hinkley 1997, section
// 5.2.1), 2 v - q(0.975) to 2 v - q(0.025), v being the value and q the quantiles of replicates:
// blocks of consecutive pairs of past and present, drawn with replacement. Measures that cannot be
// negative are too high in replicates, as they are in data; percentiles themselves would be too
// high twice. Either end may be below 0. Errors: those of MeasureWindow, a block longer than the
// data.
Result<std::vector<Interval>> BootstrapIntervals(std::span<const SeriesView> trials,
                                                 const WindowOptions& options,
                                                 std::span<const WindowValue> values,
                                                 const BootstrapOptions& bootstrap);

}  // namespace reveza::phi
