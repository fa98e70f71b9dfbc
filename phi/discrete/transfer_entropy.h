// Transfer entropy of symbol sequences: the information that the past of one series carries about
// the present of another beyond the latter's own past (Schreiber 2000, Phys Rev Lett 85:461), in
// nats.
//
//   TE(X -> Y | Z) = I(Y_t ; X_{t-u} .. X_{t-u-l+1} | Y_{t-1} .. Y_{t-k}, Z_{t-u} .. Z_{t-u-l+1})
//                  = H(Y_t, P) - H(P) - H(Y_t, P, X^l) + H(P, X^l)
//
// with target history k, source history l and delay u, P being the past of Y and, if given, that of
// another series Z (Lizier, Prokopenko, Zomaya 2008, Phys Rev E 77:026110,
// doi:10.1103/PhysRevE.77.026110). Sets of series are one series of joint symbols. Entropies are
// plug-in estimates from counts, biased upwards for many symbols and few rows; `corrected` adds the
// Miller-Madow term (m - 1) / 2N to each, m being the number of observed states (Miller 1955), and
// may be negative. Surrogates shift the source circularly within each trial, without samples whose
// past of the source spans the seam, or take it from other trials; both preserve everything but its
// relation to the target. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/error.h"
#include "phi/discrete/symbols.h"

namespace reveza::phi {

struct TransferOptions {
  int target_history = 1;  // k
  int source_history = 1;  // l
  int delay = 1;           // u
  int surrogates = 0;
  std::uint64_t seed = 1;
};

// How the rows of a series are divided into trials, which no history spans.
struct TransferTrials {
  std::vector<std::int64_t> lengths;
  bool permuted = false;  // surrogates take the source from other trials, of one length
};

struct TransferEntropy {
  double plug_in = 0;
  double corrected = 0;
  std::int64_t samples = 0;
  std::int64_t states = 0;  // observed joint states of the target's present and both pasts
  // With surrogates: the mean of their plug-in values, and p = (1 + surrogates at or above the
  // value) / (1 + surrogates).
  std::optional<double> null_mean;
  std::optional<double> p;
};

// Computes the transfer entropy from `source` to `target`, series of equal length, given a third
// one, if it is not empty. Errors: series of different lengths or too short for the histories, or
// more joint states than 64 bits can encode.
Result<TransferEntropy> TransferEntropyOf(const SymbolSeries& source, const SymbolSeries& target,
                                          const SymbolSeries& given, const TransferTrials& trials,
                                          const TransferOptions& options);
Result<TransferEntropy> TransferEntropyOf(const SymbolSeries& source, const SymbolSeries& target,
                                          const SymbolSeries& given,
                                          const TransferOptions& options);
Result<TransferEntropy> TransferEntropyOf(const SymbolSeries& source, const SymbolSeries& target,
                                          const TransferOptions& options);

}  // namespace reveza::phi
