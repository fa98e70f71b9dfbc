// The mean absolute correlation that an earlier program of the field called phi. It is kept so that
// its numbers can be compared; it is not integrated information: it minimises over no partition, it
// does not condition on a module's own past, and independent noise does not give 0.
//
// Its definition (the path that is taken once there are ten states or more):
//
//   g_ij   mean over lags 1 .. min(5, n / 3) of |corr(X_i(t - lag), X_j(t))| over the last n <= 50
//          states, first dimension of each module only ("granger"); transfer entropy is 0 there
//   c      (g + te) / 2; d = |g - te|; c * (1 - 0.2 d) where d > 0.3; dropped where c < 0.001
//   phi_ws harmonic mean of c over the last 200 records of ordered pairs, within [0, 1]; 0.01 where
//          all were dropped
//   phi_c  mean over the pairs C-P, C-U, P-U of the mean over dimensions of |corr| over the last 20
//          states of the recurrent triple
//   phi    phi_c where phi_ws is 0; where phi_ws < 0.1 and phi_c > 0.5: phi_c if they are more than
//          0.5 apart, else w phi_c + (1 - w) phi_ws with w = min(0.9, 0.7 + 0.4 (phi_c - phi_ws));
//          otherwise 0.6 of the larger and 0.4 of the smaller
//
// A correlation with something that does not vary is 0, so that its record is dropped.
// Thread-safety: pure functions; a LegacyPhi is for one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "base/error.h"
#include "phi/measures/series.h"

namespace reveza::phi {

inline constexpr int kLegacyWindow = 50;
inline constexpr int kLegacyTripleWindow = 20;
inline constexpr int kLegacyRecords = 200;
inline constexpr int kLegacyLeastStates = 10;

// |corr(x, y)| of `count` pairs, `stride` doubles apart; 0 where either does not vary.
double AbsoluteCorrelation(const double* x, const double* y, std::int64_t count,
                           std::int64_t stride_x, std::int64_t stride_y);

// g_ij of the last (at most kLegacyWindow) rows of the columns `from` and `to`.
// Error: fewer than kLegacyLeastStates rows.
Result<double> LegacyPairStrength(const SeriesView& series, int from, int to);

struct LegacyRecord {
  double granger = 0.0;
  double transfer_entropy = 0.0;
};

// phi_ws of these records.
double LegacyWorkspacePhi(std::span<const LegacyRecord> records);

// phi_c: each series has the dimensions of one of the three as variables, its last (at most
// kLegacyTripleWindow) rows count. Same length and variables each.
double LegacyTriplePhi(const SeriesView& conscious, const SeriesView& preconscious,
                       const SeriesView& unconscious);

// phi of both.
double LegacyCombined(double workspace, double triple);

// phi_ws cycle by cycle. Each cycle adds the records of all ordered pairs (i, j), i != j, in order.
class LegacyPhi {
 public:
  // `series` has one variable a module (its first dimension), up to the present cycle.
  // Error: fewer than kLegacyLeastStates rows.
  Result<double> Add(const SeriesView& series);

 private:
  std::deque<LegacyRecord> records_;
};

// What independent white noise gives.
struct LegacyNull {
  double mean = 0.0;
  double deviation = 0.0;
  double low = 0.0;   // 2.5 % of draws are below
  double high = 0.0;  // 2.5 % of draws are above
};
inline constexpr int kLegacyNullReplicates = 400;
inline constexpr std::uint64_t kLegacyNullSeed = 1;

// Of phi_ws: `replicates` draws of the series of `modules` that fill the records once, in windows
// of `window` rows.
LegacyNull LegacyNullOf(int modules, int window, int replicates, std::uint64_t seed);

// Of phi, both combined, as a run of modules of `dimension` elements gives it (its column
// phi_legacy): each replicate draws the series of the modules and those of the triple, which alone
// gives 0.19. Above 64 dimensions those of 64 are drawn, and the triple's deviations from its mean
// shrink as the root of their number grows.
LegacyNull LegacyCombinedNullOf(int modules, int dimension, int replicates = kLegacyNullReplicates,
                                std::uint64_t seed = kLegacyNullSeed);

}  // namespace reveza::phi
