#include "common/base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

namespace reveza {
namespace {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string_view> Nearest(std::string_view word,
                                        std::span<const std::string_view> names) {
  std::optional<std::string_view> best;
  std::size_t min_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view name : names) {
    const std::size_t distance = EditDistance(word, name);
    if (distance < min_distance) {
      min_distance = distance;
      best = name;
    }
  }
  return best;
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> names) {
  const auto nearest = Nearest(word, names);
  return nearest ? "; did you mean '" + std::string(*nearest) + "'?" : "";
}

}  // namespace reveza
