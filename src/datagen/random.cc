#include "datagen/random.h"

#include <limits>
#include <numeric>
#include <string>

namespace reveza::datagen {

Result<WeightedChoice> WeightedChoice::Make(std::span<const uint32_t> weights) {
  if (weights.size() > std::numeric_limits<uint16_t>::max()) {
    return Fail(Error::Code::kInvalidArgument,
                std::to_string(weights.size()) + " weights are more than 65535");
  }
  const uint64_t total = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  if (total == 0 || total > std::numeric_limits<uint32_t>::max()) {
    return Fail(Error::Code::kInvalidArgument,
                "weights add up to " + std::to_string(total) + ", and should to 1 to 4294967295");
  }

  // Each column holds `total`; a choice brings its weight times the number of columns. What a small
  // one leaves empty is filled by a large one.
  const auto count = static_cast<uint32_t>(weights.size());
  std::vector<uint64_t> left(count);
  std::vector<uint32_t> small;
  std::vector<uint32_t> large;
  for (uint32_t i = 0; i < count; ++i) {
    left[i] = uint64_t{weights[i]} * count;
    (left[i] < total ? small : large).push_back(i);
  }
  std::vector<Column> columns(count);
  const uint64_t all = std::numeric_limits<uint64_t>::max();
  while (!small.empty()) {
    const uint32_t own = small.back();
    small.pop_back();
    // Integers lose nothing on the way, so while a column is short another is over-full.
    const uint32_t other = large.back();
    const auto part = static_cast<unsigned __int128>(left[own]) << 64;
    const auto limit = static_cast<uint64_t>(part / total);
    columns[own] = limit == 0 ? Column{.last_own = all, .own = other, .other = other}
                              : Column{.last_own = limit - 1, .own = own, .other = other};
    left[other] -= total - left[own];
    if (left[other] < total) {
      large.pop_back();
      small.push_back(other);
    }
  }
  for (const uint32_t full : large) {
    columns[full] = Column{.last_own = all, .own = full, .other = full};
  }
  return WeightedChoice(std::move(columns));
}

}  // namespace reveza::datagen
