// The mean absolute correlation that OmniMind called phi, kept for comparison with its results. It
// is not integrated information: it minimises over no partition, does not condition on a module's
// own past, and is not 0 for independent noise.
//
// Definition, once there are ten states or more:
//
//   g_ij   mean over lags 1 .. min(5, n / 3) of |corr(X_i(t - lag), X_j(t))| over the last n <= 50
//          states, first dimension of each module only ("granger"); transfer entropy is 0 there
//   c      (g + te) / 2; d = |g - te|; c * (1 - 0.2 d) if d > 0.3; dropped if c < 0.001
//   phi_ws harmonic mean of c over the last 200 records of ordered pairs, clamped to [0, 1]; 0.01
//          if all were dropped
//   phi_c  mean over the pairs C-P, C-U, P-U of the mean over dimensions of |corr| over the last 20
//          states of the recurrent triple
//   phi    phi_c if phi_ws is 0; if phi_ws < 0.1 and phi_c > 0.5: phi_c if they differ by more than
//          0.5, else w phi_c + (1 - w) phi_ws with w = min(0.9, 0.7 + 0.4 (phi_c - phi_ws));
//          otherwise 0.6 times the larger plus 0.4 times the smaller
//
// Correlation with a constant is 0, so that its record is dropped.
// Thread-safe: pure functions, except LegacyPhi, which is not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "common/base/error.h"
#include "phi/measures/series.h"

namespace reveza::phi {

inline constexpr int kLegacyWindow = 50;
inline constexpr int kLegacyTripleWindow = 20;
inline constexpr int kLegacyRecords = 200;
inline constexpr int kLegacyMinStates = 10;

// Returns |corr(x, y)| of `count` pairs, `stride_x` and `stride_y` doubles apart; 0 if either is
// constant.
double AbsoluteCorrelation(const double* x, const double* y, std::int64_t count,
                           std::int64_t stride_x, std::int64_t stride_y);

// Returns g_ij over the last rows, at most kLegacyWindow, of the columns `from` and `to`. Returns
// kInvalidArgument for fewer than kLegacyMinStates rows.
Result<double> LegacyPairStrength(const SeriesView& series, int from, int to);

struct LegacyRecord {
  double granger = 0.0;
  double transfer_entropy = 0.0;
};

// Returns phi_ws of these records.
double LegacyWorkspacePhi(std::span<const LegacyRecord> records);

// Returns phi_c over the last rows, at most kLegacyTripleWindow. Each series holds the dimensions
// of one member of the triple as variables; all have the same length and variables.
double LegacyTriplePhi(const SeriesView& conscious, const SeriesView& preconscious,
                       const SeriesView& unconscious);

// Returns phi from phi_ws and phi_c.
double LegacyCombined(double workspace, double triple);

// Computes phi_ws cycle by cycle. Each cycle adds the records of all ordered pairs (i, j), i != j.
class LegacyPhi {
 public:
  // Adds a cycle and returns phi_ws. `series` holds the first dimension of each module up to the
  // present cycle. Returns kInvalidArgument for fewer than kLegacyMinStates rows.
  Result<double> Add(const SeriesView& series);

 private:
  std::deque<LegacyRecord> records_;
};

// Null distribution: the values of independent white noise.
struct LegacyNull {
  double mean = 0.0;
  double deviation = 0.0;
  double low = 0.0;   // 2.5 % quantile
  double high = 0.0;  // 97.5 % quantile
};
inline constexpr int kLegacyNullReplicates = 400;
inline constexpr std::uint64_t kLegacyNullSeed = 1;

// Returns the null distribution of phi_ws from `replicates` draws of series of `modules` modules
// that fill the records once, in windows of `window` rows.
LegacyNull LegacyNullOf(int modules, int window, int replicates, std::uint64_t seed);

// Returns the null distribution of the combined phi (column phi_legacy of a run) for modules of
// `dimension` elements. Each replicate draws the series of the modules and of the triple, whose
// phi_c alone is 0.19. Above 64 dimensions, 64 are drawn, and the deviations of phi_c from its mean
// are scaled by the root of the ratio.
LegacyNull LegacyCombinedNullOf(int modules, int dimension, int replicates = kLegacyNullReplicates,
                                std::uint64_t seed = kLegacyNullSeed);

}  // namespace reveza::phi
