// Transfer entropy of symbols: what the past of one series says of another's present beyond that
// one's own past (Schreiber 2000, Phys Rev Lett 85:461), in nats.
//
//   TE(X -> Y) = I(Y_t ; X_{t-u} .. X_{t-u-l+1} | Y_{t-1} .. Y_{t-k})
//              = H(Y_t, Y^k) - H(Y^k) - H(Y_t, Y^k, X^l) + H(Y^k, X^l)
//
// with k own past values, l values of the other, u steps ago and before. Entropies are plug-in
// estimates from counts, which find too much where symbols are many and rows are few; `corrected`
// adds Miller and Madow's (m - 1) / 2N to each, m being the states that were seen (Miller 1955),
// and may be below 0. Surrogates move the source in a circle, which keeps all of it but what joins
// it to the target. Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"

namespace reveza::phi {

struct TransferOptions {
  int target_history = 1;  // k
  int source_history = 1;  // l
  int delay = 1;           // u
  int surrogates = 0;
  std::uint64_t seed = 1;
};

struct TransferEntropy {
  double plug_in = 0;
  double corrected = 0;
  std::int64_t samples = 0;
  std::int64_t states = 0;  // of the target's present and both pasts, that were seen
  // With surrogates: their mean (of plug-in values), and (1 + those at or above the value) /
  // (1 + all of them).
  std::optional<double> null_mean;
  std::optional<double> p;
};

// Which of `bins` each value is in, from 0, with about as many values in each; equal values are in
// the same, so that there may be fewer. Where no more values than bins are different, each is a
// symbol. Errors: fewer than 2 bins, fewer values than bins, a value that is not a finite number,
// all values the same.
Result<std::vector<int>> QuantileBins(std::span<const double> values, int bins);

// `source` and `target` are of one length, with symbols from 0. Errors: too short for the
// histories; histories whose states would not fit into a word (says which are too long).
Result<TransferEntropy> TransferEntropyOf(std::span<const int> source, std::span<const int> target,
                                          const TransferOptions& options);

}  // namespace reveza::phi
