// Transfer entropy of continuous series, between sets of columns and given others, in nats:
//
//   TE(X -> Y | Z) = I(Y_t ; X_{t-u} .. X_{t-u-l+1} | Y_{t-1} .. Y_{t-k}, Z_{t-u} .. Z_{t-u-l+1})
//
// with target history k, source history l and delay u (Schreiber 2000, Phys Rev Lett 85:461,
// doi:10.1103/PhysRevLett.85.461; given others: Lizier, Prokopenko, Zomaya 2008, Phys Rev E
// 77:026110, doi:10.1103/PhysRevE.77.026110). X, Y and Z may have several columns each. Estimators:
//
//   gauss  from the determinants of a covariance; half of Granger causality (Barnett, Barrett, Seth
//          2009, Phys Rev Lett 103:238701, doi:10.1103/PhysRevLett.103.238701). 2 N TE follows a
//          chi-square distribution with l |X| |Y| degrees of freedom if there is no influence.
//   ksg    from distances to the K nearest neighbours in the maximum norm, with columns of variance
//          1 (Kraskov, Stoegbauer, Grassberger 2004, Phys Rev E 69:066138,
//          doi:10.1103/PhysRevE.69.066138, algorithm 1; conditional: Frenzel & Pompe 2007, Phys Rev
//          Lett 99:204101, doi:10.1103/PhysRevLett.99.204101):
//          psi(K) + < psi(n_z + 1) - psi(n_xz + 1) - psi(n_yz + 1) >, where n are the neighbours
//          within the distance of the K-th. As JIDT, without its noise. `window` is its
//          DYN_CORR_EXCL.
//
// Surrogates take X from a random other trial, without replacement, or shift it circularly within
// each trial; both keep X itself, and Y with Z.
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "phi/measures/series.h"
#include "phi/measures/surrogates.h"

namespace reveza::phi {

// Columns of a series.
struct TransferColumns {
  std::vector<int> sources, targets, given = {};
};

struct ContinuousTransferOptions {
  enum class Estimator { kGauss, kKsg };
  Estimator estimator = Estimator::kGauss;
  int target_history = 1;   // k
  int source_history = 1;   // l, also of the columns that are given
  int delay = 1;            // u
  int neighbours = 4;       // K of kKsg
  std::int64_t window = 0;  // of kKsg: rows within this time are no neighbours (Theiler)
  int surrogates = 0;
  SurrogateKind surrogate = SurrogateKind::kShift;  // or kTrials
  std::uint64_t seed = 1;
  std::vector<std::string> names = {};  // of the columns, for errors
};

struct ContinuousTransfer {
  double nats = 0.0;
  // Of kGauss: the value less its expectation for independent rows without influence.
  std::optional<double> corrected;
  std::int64_t samples = 0;
  std::optional<double> null_mean;  // of the surrogates
  // With surrogates (1 + those at or above the value) / (1 + surrogates), else of kGauss by the
  // chi-square distribution.
  std::optional<double> p;
};

// Computes the transfer entropy of trials. Errors: no source or target, a column of more than one
// role, too few rows for the histories, a singular covariance (kGauss), rows that coincide (kKsg).
Result<ContinuousTransfer> ContinuousTransferOf(std::span<const SeriesView> trials,
                                                const TransferColumns& columns,
                                                const ContinuousTransferOptions& options);

}  // namespace reveza::phi
