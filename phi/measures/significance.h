// Statistical significance of measures: bias, surrogate tests and bootstrap intervals.
//
// Thread-safe: pure functions. Results do not depend on the number of threads.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/measures.h"
#include "phi/measures/partition.h"
#include "phi/measures/series.h"
#include "phi/measures/surrogates.h"
#include "phi/measures/window.h"

namespace reveza::phi {

// Returns psi(x) = d log Gamma(x) / dx for x > 0, accurate to about 1e-14 (Abramowitz &
// Stegun 6.3.5 and 6.3.18).
double Digamma(double x);

// Returns the expected bias of a measure, in nats, when covariances are estimated from `samples`
// independent pairs. Derived from E log |S| = log |Sigma| + sum_i psi((samples - i) / 2) + a
// constant per dimension (Goodman 1963; Misra, Singh, Demchuk 2005, J Multivar Anal 92:324); for
// phi_g, a likelihood-ratio statistic, from Wilks' theorem: 1 / (2 samples) for each element of A
// that the partition excludes. Nothing for phi_star, which has no known formula; use surrogates.
// Correlated samples have a larger bias.
std::optional<double> BiasOf(const GaussianModel& model, const Partition& partition,
                             Measure measure, std::int64_t samples);

// Returns, by variable, the partial autocorrelation of rows history + 1 apart where it exceeds
// three standard errors of rows that depend on no more of their past than `history` rows, and else
// 0. From the first 65,536 rows of the trials.
std::vector<double> LongMemories(std::span<const SeriesView> trials, int history);

// Returns what to say of bias-corrected values, whose formulas hold for independent rows only;
// names the first variable whose rows are not.
std::string BiasNote(std::span<const SeriesView> trials, std::span<const std::string> names);

// Returns the quantile below which the given share of the sorted values lies.
double Quantile(const std::vector<double>& sorted, double share);

// Returns X_k = sum_t x_t exp(-2 pi i k t / n), or its inverse, which includes the factor 1 / n.
// O(n log n), by radix 2 and, for other lengths, Bluestein's algorithm (1970, IEEE Trans.
// AU-18:451).
std::vector<std::complex<double>> FourierTransform(std::vector<std::complex<double>> values,
                                                   bool inverse);

struct SurrogateOptions {
  SurrogateKind kind = SurrogateKind::kShift;
  int count = 0;
  std::uint64_t seed = 1;
  int threads = 1;
};

// Numbers are not numbers if `missing` says why there is no test.
struct Significance {
  double null_mean = 0.0;
  double null_high = 0.0;  // 95 % quantile of the surrogates
  double p = 1.0;          // (1 + surrogates at or above the value) / (1 + surrogates)
  int surrogates = 0;
  std::string missing = {};
};

// Compares a value with those of surrogates, of which there is at least one. If one is not a
// number, there is no test, because those without a value may be high or low.
Significance SignificanceOf(double value, std::vector<double> surrogates);

// Tests each of `values`, the result of MeasureWindow() for these trials and options, against
// surrogates, for which searches are repeated. Surrogates are made by the parts of
// options.partition or, with a search or without a partition, by variable. Nothing for i, to which
// independence of the parts says little, and for values that are missing. Errors: those of
// MeasureWindow().
Result<std::vector<std::optional<Significance>>> TestAgainstSurrogates(
    std::span<const SeriesView> trials, const WindowOptions& options,
    std::span<const WindowValue> values, const SurrogateOptions& surrogates);

// Returns p-values adjusted for the false discovery rate: rejecting those at or below q keeps the
// expected share of false rejections at q, for independent or positively dependent tests (Benjamini
// & Hochberg 1995, J R Stat Soc B 57:289, doi:10.1111/j.2517-6161.1995.tb02031.x).
std::vector<double> AdjustedP(std::span<const double> p);

struct BootstrapOptions {
  int count = 0;
  std::int64_t block = 0;  // pairs per block; 0: the cube root of the samples, rounded up
  std::uint64_t seed = 1;
  int threads = 1;
};

struct Interval {
  double low = 0.0;
  double high = 0.0;
  int replicates = 0;
  std::int64_t block = 0;
  std::string missing = {};  // why the ends are not numbers
};

// Returns the reverse interval of a value from replicates; without ends if one is not a number.
Interval IntervalOf(double value, std::vector<double> replicates, std::int64_t block);

// Returns, for each of `values`, the result of MeasureWindow() for these trials and options, the
// reverse 95 % interval of a moving block bootstrap (Kuensch 1989, Ann Stat 17:1217; Davison &
// Hinkley 1997, section 5.2.1): 2 v - q(0.975) to 2 v - q(0.025), where v is the value and q are
// quantiles of the replicates, which resample blocks of consecutive pairs of past and present with
// replacement. Nonnegative measures are biased upwards in replicates as in data, so that percentile
// intervals would be biased twice. Either end may be negative. Errors: those of MeasureWindow(),
// and a block longer than the data.
Result<std::vector<Interval>> BootstrapIntervals(std::span<const SeriesView> trials,
                                                 const WindowOptions& options,
                                                 std::span<const WindowValue> values,
                                                 const BootstrapOptions& bootstrap);

}  // namespace reveza::phi
