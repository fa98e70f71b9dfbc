// Measures of integrated information for Gaussian variables: how much a system as a whole predicts
// of its own present beyond its parts. All values are in nats.
//
// X is the past, Y the present (gaussian.h), Z = {M_1 .. M_K} the partition, H(X) = 1/2 log |2 pi e
// Sigma_X| the differential entropy, I(X; Y) the mutual information:
//
//   i         I(X; Y) = H(Y) - H(Y | X). Time-delayed mutual information; has no partition.
//   mi        sum_k H(X_k, Y_k) - H(X, Y). Multi-information of the parts, at equal times included.
//             (Watanabe 1960; Oizumi, Tsuchiya, Amari 2016, PNAS 113:14817, "I(X,Y)".)
//   si        sum_k H(Y_k | X_k) - H(Y | X). Stochastic interaction. (Ay 2001/2015, Entropy
//   17:2432;
//             Barrett & Seth 2011, PLoS Comput Biol 7:e1001052, "phi tilde".)
//   wms       I(X; Y) - sum_k I(X_k; Y_k). Whole minus sum, phi_E; phi_AR of Barrett & Seth 2011
//             if the covariances are estimated, since the residual covariance of a regression is
//             Sigma_Y - Sigma_YX Sigma_X^-1 Sigma_XY. May be negative.
//   phi_r     wms + min_ij I(X_i; Y_j), for two parts: wms corrected for double-counted redundancy
//             (Mediano, Rosas, Carhart-Harris, Seth, Barrett 2019, arXiv:1909.02297; minimum mutual
//             information as redundancy).
//   phi_g     min over A' block-diagonal of 1/2 log(|Sigma_E'| / |Sigma_E|), Sigma_E' = Sigma_E +
//             (A - A') Sigma_X (A - A')^T. Geometric integrated information (Oizumi, Tsuchiya,
//             Amari 2016, PNAS 113:14817, eqs. 12, 16, 24).
//   phi_star  I(X; Y) - max_beta I*(beta): the loss of a mismatched decoder that assumes
//   independent
//             parts. (Oizumi, Amari, Yanagawa, Fujii, Tsuchiya 2016, PLoS Comput Biol 12:e1004654,
//             eqs. 15 and following.)
//
// Thread-safe: pure functions of an immutable model.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/partition.h"

namespace reveza::phi {

enum class Measure {
  kInformation,
  kMultiInformation,
  kStochasticInteraction,
  kWholeMinusSum,
  kPhiR,
  kPhiG,
  kPhiStar,
};

inline constexpr std::array<Measure, 7> kAllMeasures = {Measure::kInformation,
                                                        Measure::kMultiInformation,
                                                        Measure::kStochasticInteraction,
                                                        Measure::kWholeMinusSum,
                                                        Measure::kPhiR,
                                                        Measure::kPhiG,
                                                        Measure::kPhiStar};

// Returns "i", "mi", "si", "wms", "phi_r", "phi_g" or "phi_star".
std::string_view NameOf(Measure measure);
// Parses a name. For unknown names, the error lists all names and suggests the nearest.
Result<Measure> ParseMeasure(std::string_view name);
// Parses "si,phi_g" or "all"; duplicates are dropped.
Result<std::vector<Measure>> ParseMeasures(std::string_view names);

// Returns the value of a measure at a partition, in nats. Errors: the partition is of a different
// number of variables; phi_r for more than two parts; kUnavailable: phi_g did not converge
// (nearly singular model).
Result<double> Evaluate(const GaussianModel& model, const Partition& partition, Measure measure);

// phi_g as the lowest minimum found from several starting points, and the block-diagonal coupling
// A' that attains it (rows: present of each variable; columns: past, with the lags of a variable
// adjacent; in units of standard deviations). The function may have several minima, and none is
// known to be the lowest.
struct GeometricIntegration {
  double value = 0.0;
  double at_least = 0.0;  // the lowest minimum is not below this
  Matrix coupling;
  int starts = 0;
  int agreed = 0;  // starts that led to this value
  int sweeps = 0;  // of the start that led to it first
};
Result<GeometricIntegration> GeometricIntegrationOf(const GaussianModel& model,
                                                    const Partition& partition);

// phi_star and the beta of the optimal mismatched decoder.
struct MismatchedDecoding {
  double value = 0.0;
  double beta = 0.0;
};
MismatchedDecoding MismatchedDecodingOf(const GaussianModel& model, const Partition& partition);

}  // namespace reveza::phi
