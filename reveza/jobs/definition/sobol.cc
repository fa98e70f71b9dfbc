#include "reveza/jobs/definition/sobol.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>

#include "common/base/parse_number.h"
#include "reveza/jobs/definition/parameters.h"

namespace reveza::jobs {
namespace {

constexpr unsigned kBits = 32;

// A primitive polynomial of this degree over GF(2), its inner coefficients as the bits of
// `coefficients`, and the first direction numbers of its dimension.
struct Polynomial {
  unsigned degree;
  unsigned coefficients;
  std::array<std::uint32_t, 7> first;
};

// Of the second dimension and the following ones.
constexpr std::array<Polynomial, kMaxSobolDimensions - 1> kPolynomials = {{
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
}};

using Directions = std::array<std::uint32_t, kBits>;

// Returns the direction numbers of a dimension, scaled by 2^32.
Directions DirectionsOf(std::size_t dimension) {
  Directions v{};
  if (dimension == 0) {
    for (unsigned i = 0; i < kBits; ++i) v[i] = std::uint32_t{1} << (kBits - 1 - i);
    return v;
  }
  const Polynomial& polynomial = kPolynomials[dimension - 1];
  const unsigned degree = polynomial.degree;
  for (unsigned i = 0; i < kBits; ++i) {
    if (i < degree) {
      v[i] = polynomial.first[i] << (kBits - 1 - i);
      continue;
    }
    v[i] = v[i - degree] ^ (v[i - degree] >> degree);
    for (unsigned k = 1; k < degree; ++k) {
      if ((polynomial.coefficients >> (degree - 1 - k) & 1U) != 0) v[i] ^= v[i - k];
    }
  }
  return v;
}

double PointOf(const Directions& directions, std::uint32_t index) {
  const std::uint32_t gray = index ^ (index >> 1);
  std::uint32_t x = 0;
  for (unsigned bit = 0; bit < kBits; ++bit) {
    if ((gray >> bit & 1U) != 0) x ^= directions[bit];
  }
  return std::ldexp(static_cast<double>(x), -static_cast<int>(kBits));
}

}  // namespace

Result<std::optional<SobolRange>> ParseSobol(std::span<const std::string> words) {
  if (words.size() < 2 || words[0] != "sobol") return std::nullopt;
  const std::string_view ends = words[1];
  const std::size_t dots = ends.find("..");
  if (dots == ends.npos) return std::nullopt;
  const auto low = ParseNumber<double>(ends.substr(0, dots));
  const auto high = ParseNumber<double>(ends.substr(dots + 2));
  const auto count =
      words.size() > 2 ? ParseNumber<std::uint32_t>(words[2]) : std::optional<std::uint32_t>();
  const bool logarithmic = words.size() == 4 && words[3] == "log";
  if (!low || !high || !std::isfinite(*low) || !std::isfinite(*high) || *low >= *high ||
      count.value_or(0) == 0 || (words.size() > 3 && !logarithmic)) {
    return InvalidArgument("expected sobol LOW..HIGH COUNT, or with log at the end, got '{}'",
                           fmt::join(words, " "));
  }
  if (*count > kMaxSteps) {
    return InvalidArgument("sobol {}: {} samples; a job has at most {} steps", ends, *count,
                           kMaxSteps);
  }
  if (logarithmic && *low <= 0) {
    return InvalidArgument("sobol {}: with log both ends must be above 0", ends);
  }
  return SobolRange{*low, *high, logarithmic, *count};
}

double SobolPoint(std::size_t dimension, std::uint32_t index) {
  return PointOf(DirectionsOf(dimension), index);
}

Result<std::vector<std::string>> SobolValues(const SobolRange& range, std::size_t dimension) {
  if (dimension >= kMaxSobolDimensions) {
    return InvalidArgument("at most {} parameters of a job can be sampled", kMaxSobolDimensions);
  }
  const Directions directions = DirectionsOf(dimension);
  const double low = range.logarithmic ? std::log(range.low) : range.low;
  const double high = range.logarithmic ? std::log(range.high) : range.high;
  std::vector<std::string> values;
  values.reserve(range.count);
  for (std::uint32_t index = 0; index < range.count; ++index) {
    const double at = low + PointOf(directions, index) * (high - low);
    values.push_back(fmt::format("{:.12g}", range.logarithmic ? std::exp(at) : at));
  }
  return values;
}

}  // namespace reveza::jobs
