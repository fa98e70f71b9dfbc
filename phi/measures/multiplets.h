// High-order dependence of every subset (multiplet) of variables at equal times, for Gaussian
// variables. All values are in nats. H is the differential entropy, X_-i all variables of the
// subset but X_i:
//
//   tc   sum_i H(X_i) - H(X). Total correlation (Watanabe 1960, IBM J Res Dev 4:66,
//        doi:10.1147/rd.41.0066).
//   dtc  H(X) - sum_i H(X_i | X_-i) = sum_i H(X_-i) - (k - 1) H(X) for k variables. Dual total
//        correlation (Han 1978, Inf Control 36:133, doi:10.1016/S0019-9958(78)90275-9).
//   o    tc - dtc. O-information: positive if redundancy prevails, negative if synergy does (Rosas,
//        Mediano, Gastpar, Jensen 2019, Phys Rev E 100:032305, doi:10.1103/PhysRevE.100.032305).
//   s    tc + dtc. S-information (James, Ellison, Crutchfield 2011, Chaos 21:037109,
//        doi:10.48550/arXiv.1105.2988; Rosas et al. 2019).
//
// All of them follow from the determinants of the correlation matrix of each subset, of which one
// walk makes a table (subset_determinants.h).
//
// Pure functions; results do not depend on the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "phi/arithmetic/processor.h"
#include "phi/measures/estimate.h"
#include "phi/measures/series.h"
#include "phi/measures/significance.h"

namespace reveza::phi {

enum class MultipletMeasure {
  kOInformation,
  kSInformation,
  kTotalCorrelation,
  kDualTotalCorrelation,
};
inline constexpr std::array<MultipletMeasure, 4> kMultipletMeasures = {
    MultipletMeasure::kOInformation, MultipletMeasure::kSInformation,
    MultipletMeasure::kTotalCorrelation, MultipletMeasure::kDualTotalCorrelation};

// Returns "o", "s", "tc" or "dtc".
std::string_view NameOf(MultipletMeasure measure);

// A value for each of kMultipletMeasures.
using MultipletValues = std::array<double, kMultipletMeasures.size()>;

// A subset with the lowest or highest value of its order; ties go to the lower mask.
struct MultipletExtreme {
  double value = 0.0;
  std::uint32_t subset = 0;  // bit i: variable i
};

// All subsets of `order` variables.
struct MultipletOrder {
  int order = 2;
  std::int64_t subsets = 0;
  MultipletValues mean = {};
  std::array<MultipletExtreme, kMultipletMeasures.size()> lowest = {};
  std::array<MultipletExtreme, kMultipletMeasures.size()> highest = {};
};

class Multiplets {
 public:
  static constexpr int kMaxVariables = 24;

  // Computes the table of a correlation matrix. `logs` is memory to reuse. Errors: fewer than two
  // variables or more than kMaxVariables, a determinant too small for the table.
  static Result<Multiplets> Of(const Matrix& correlation, std::vector<double> logs = {},
                               Instructions instructions = SupportedInstructions());

  int variables() const { return variables_; }
  // Returns the values of a subset of at least one variable.
  MultipletValues ValuesOf(std::uint32_t subset) const;
  // Returns a summary for each order from 2 to variables().
  std::vector<MultipletOrder> Orders() const;
  // Gives the memory of the table back for the next one.
  std::vector<double> TakeMemory() && { return std::move(logs_); }

 private:
  Multiplets() = default;

  int variables_ = 0;
  std::vector<double> logs_;  // log-determinants by subset
};

// Returns the memory of `threads` concurrent tables.
Bytes MultipletBytes(int variables, int threads);

struct MultipletOptions {
  // Whether values are replaced by the normal quantiles of their ranks, so that only the dependence
  // must be Gaussian, not the distributions of the variables (Gaussian copula: Ince, Giordano,
  // Kayser, Rousselet, Gross, Schyns 2017, Hum Brain Mapp 38:1541, doi:10.1002/hbm.23471). Equal
  // values share their mean rank.
  bool copula = false;
  Shrinkage shrinkage = {};
  std::vector<std::string> names = {};  // of the variables, for errors
};

struct MeasuredMultiplets {
  Multiplets multiplets;
  std::int64_t samples = 0;
  double shrinkage = 0.0;
  double condition = 1.0;
};

// Measures all rows of all trials, about a common mean. Errors: those of EstimateSimultaneous() and
// Multiplets::Of().
Result<MeasuredMultiplets> MeasureMultiplets(std::span<const SeriesView> trials,
                                             const MultipletOptions& options,
                                             std::vector<double> memory = {});

// Returns the expected bias of the values of a subset of `order` variables, if covariances are
// estimated from independent rows (as BiasOf()); for a copula it is an approximation.
MultipletValues MultipletBias(int order, std::int64_t samples);

// The extremes of each order in surrogates, in which all variables are independent.
class MultipletNull {
 public:
  // Measures the surrogates. Errors: those of MeasureMultiplets().
  static Result<MultipletNull> Of(std::span<const SeriesView> trials,
                                  const MultipletOptions& options,
                                  const SurrogateOptions& surrogates);

  // Returns the share of surrogates, this series counted in, whose highest value of this order (the
  // lowest, if `low`) is at least as extreme. Corrects for the number of subsets of one order, not
  // for the number of orders (maximum statistic: Nichols & Holmes 2002, Hum Brain Mapp 15:1,
  // doi:10.1002/hbm.1058).
  double P(MultipletMeasure measure, int order, double value, bool low) const;
  // Returns the 95 % quantile of the highest values of an order, or the 5 % quantile of the lowest.
  double Bound(MultipletMeasure measure, int order, bool low) const;

 private:
  MultipletNull() = default;

  // By order - 2 and measure: sorted values of the surrogates.
  std::vector<std::array<std::vector<double>, kMultipletMeasures.size()>> lowest_, highest_;
};

// Returns the quantile of the standard normal distribution, 0 < share < 1, accurate to about 1e-15.
double NormalQuantile(double share);

}  // namespace reveza::phi
