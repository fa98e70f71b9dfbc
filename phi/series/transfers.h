// Transfer entropies among the columns of a series: from a set of columns to another, or of all
// ordered pairs, by any of the estimators (transfer_entropy.h, continuous_transfer.h). Pure
// functions; results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "phi/discrete/transfer_entropy.h"
#include "phi/measures/continuous_transfer.h"
#include "phi/measures/series.h"

namespace reveza::phi {

enum class TransferEstimator { kDiscrete, kGauss, kKsg };

// Parses "discrete", "gauss" or "ksg".
Result<TransferEstimator> ParseTransferEstimator(std::string_view name);

struct TransferRequest {
  TransferEstimator estimator = TransferEstimator::kDiscrete;
  TransferColumns columns = {};   // without sources, all ordered pairs
  bool given_all_others = false;  // in place of columns.given
  int bins = 4;                   // quantile bins per column, of kDiscrete
  int neighbours = 4;             // of kKsg
  std::int64_t window = 0;        // of kKsg: ContinuousTransferOptions::window
  TransferOptions options = {};
  SurrogateKind surrogate = SurrogateKind::kShift;  // or kTrials
  int threads = 1;
};

// The transfer entropy between two sets of columns.
struct Transfer {
  TransferColumns columns;
  double nats = 0.0;
  std::optional<double> corrected = {};  // for the bias of the estimator, if that has a formula
  // Whether the targets depend on no more of their past than the histories, which `corrected` and p
  // by the chi-square distribution take for granted (LongMemories()).
  bool histories_suffice = true;
  std::int64_t samples = 0;
  std::int64_t states = 0;  // of kDiscrete
  std::optional<double> null_mean = {}, p = {};
  std::optional<double> q = {};  // p adjusted for the false discovery rate over all transfers
};

// Computes the transfer entropies of trials whose columns have these names. Errors: fewer than two
// columns, a column of two roles, a value that is not finite, and those of the estimators.
Result<std::vector<Transfer>> TransfersOf(std::span<const SeriesView> trials,
                                          const std::vector<std::string>& names,
                                          const TransferRequest& request);

}  // namespace reveza::phi
