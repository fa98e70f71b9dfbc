// Queyranne's algorithm: the minimum of a symmetric submodular function over all divisions in two,
// with O(n^3) values (M. Queyranne 1998, Mathematical Programming 82:3; for partitions of neural
// systems Kitazono, Kanai, Oizumi 2018, Entropy 20:173). Exact for such functions, of which mutual
// information between parts is one; a good guess for others.
#pragma once

#include <functional>
#include <vector>

#include "base/error.h"

namespace reveza::phi {

struct PendentMinimum {
  std::vector<int> part;  // ascending
  double value = 0.0;
};

// `value_of` takes one part, ascending, neither empty nor all. `count` >= 2.
Result<PendentMinimum> MinimumByPendentPairs(
    int count, const std::function<Result<double>(const std::vector<int>&)>& value_of);

}  // namespace reveza::phi
