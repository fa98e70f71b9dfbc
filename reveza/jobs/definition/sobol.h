// Samples of a range that fill it evenly however many there are: `::: rate sobol 0..1 64`.
//
// The points of a Sobol sequence (I. M. Sobol, 1967, doi:10.1016/0041-5553(67)90144-9), with the
// direction numbers new-joe-kuo-6 (S. Joe and F. Y. Kuo, 2008, doi:10.1137/070709359). The first n
// of m > n points are those of n, so that a longer list runs only the new ones. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace reveza::jobs {

// Parameters that can be sampled together.
inline constexpr std::size_t kMaxSobolDimensions = 21;

struct SobolRange {
  double low = 0;
  double high = 1;
  bool logarithmic = false;  // evenly by orders of magnitude
  std::uint32_t count = 0;

  bool operator==(const SobolRange&) const = default;
};

// Parses `sobol LOW..HIGH COUNT [log]`; nullopt if the words are plain values. kInvalidArgument
// names the expected form.
Result<std::optional<SobolRange>> ParseSobol(std::span<const std::string> words);

// Returns coordinate `dimension`, from 0, of point `index`, in [0, 1).
double SobolPoint(std::size_t dimension, std::uint32_t index);

// Returns the samples as text, of twelve significant digits. Parameters of a job have different
// dimensions. kInvalidArgument: too many of them.
Result<std::vector<std::string>> SobolValues(const SobolRange& range, std::size_t dimension);

}  // namespace reveza::jobs
