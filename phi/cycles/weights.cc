#include "phi/cycles/weights.h"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "phi/arithmetic/kernels.h"

namespace reveza::phi {
namespace {

DrawPosition WeightPosition(std::uint64_t seed, std::uint32_t site) {
  return {.key = KeyOf(seed), .run = kWeightsRun, .cycle = 0, .site = site};
}

std::vector<float> NormalNumbers(std::uint64_t seed, std::uint32_t site, std::size_t count,
                                 const ArithmeticKernels& kernels) {
  const std::size_t groups = (count + kGroup - 1) / kGroup;
  std::vector<float> made(groups * kGroup);
  kernels.normals(WeightPosition(seed, site), static_cast<int>(groups), made.data());
  made.resize(count);
  return made;
}

// Returns numbers uniform in [-limit, limit), in steps of limit / 2^23; element i uses word i % 4
// of block i / 4.
std::vector<float> UniformNumbers(std::uint64_t seed, std::uint32_t site, std::size_t count,
                                  float limit) {
  const DrawPosition at = WeightPosition(seed, site);
  std::vector<float> made(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto block = static_cast<std::uint32_t>(i / 4);
    const PhiloxBlock words = Philox({{block, at.run, at.cycle, at.site}}, at.key);
    const auto steps = static_cast<std::int32_t>(words.word[i % 4] >> 8) - (1 << 23);
    made[i] = static_cast<float>(steps) * 0x1p-23F * limit;
  }
  return made;
}

PackedMatrix Coupling(std::uint64_t seed, std::uint32_t site, int dimension,
                      const ArithmeticKernels& kernels) {
  const auto side = static_cast<std::size_t>(dimension);
  std::vector<float> values = NormalNumbers(seed, site, side * side, kernels);
  for (float& each : values) each *= kCouplingDeviation;
  return {values, dimension, dimension};
}

Layer MakeLayer(std::uint64_t seed, std::uint32_t site, int outputs, int inputs) {
  const float limit = 1.0F / Sqrt(static_cast<float>(inputs));
  const auto count = static_cast<std::size_t>(outputs) * static_cast<std::size_t>(inputs);
  Layer layer;
  layer.weights = PackedMatrix(UniformNumbers(seed, site, count, limit), outputs, inputs);
  layer.offsets = UniformNumbers(seed, site + 1, static_cast<std::size_t>(outputs), limit);
  layer.offsets.resize(static_cast<std::size_t>(PaddedOf(outputs)));
  return layer;
}

double Dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Orthonormalises `rank` columns of `dimension` numbers by Gram-Schmidt, repeated once for
// accuracy.
std::vector<double> Orthonormal(std::vector<double> columns, int dimension, int rank) {
  const auto length = static_cast<std::size_t>(dimension);
  const auto column = [&](int i) {
    return std::span(columns).subspan(static_cast<std::size_t>(i) * length, length);
  };
  for (int i = 0; i < rank; ++i) {
    for (int pass = 0; pass < 2; ++pass) {
      for (int before = 0; before < i; ++before) {
        const double share = Dot(column(i), column(before));
        for (std::size_t k = 0; k < length; ++k) column(i)[k] -= share * column(before)[k];
      }
    }
    const double norm = std::sqrt(Dot(column(i), column(i)));
    for (double& each : column(i)) each /= norm;
  }
  return columns;
}

// Returns 2 a - sin(2 a): pi times the probability that the quarter-circle law assigns to values
// above 2 cos(a); a in [0, pi/2].
double UpperTail(double angle) {
  const double twice = 2 * angle;
  double term = twice;
  double sum = 0;
  for (int k = 1; k <= 20; ++k) {
    term *= -twice * twice / ((2.0 * k) * (2.0 * k + 1));
    sum -= term;
  }
  return sum;
}

}  // namespace

double StrengthOf(int index, int dimension) {
  constexpr double kPi = 3.14159265358979323846;
  const double wanted = kPi * (index + 0.5) / dimension;
  double low = 0;
  double high = kPi / 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (UpperTail(middle) < wanted ? low : high) = middle;
  }
  // cos(a) by its series.
  double term = 1;
  double cosine = 1;
  for (int k = 1; k <= 12; ++k) {
    term *= -low * low / ((2.0 * k - 1) * (2.0 * k));
    cosine += term;
  }
  return 2 * cosine * std::sqrt(static_cast<double>(dimension));
}

std::size_t CycleWeights::bytes() const {
  std::size_t sum = preconscious_to_conscious.bytes() + unconscious_to_conscious.bytes() +
                    conscious_to_unconscious.bytes() + basis_transposed.bytes() + basis.bytes();
  for (const Layer& layer : perceptron) sum += layer.weights.bytes();
  return sum;
}

CycleWeights MakeWeights(std::uint64_t seed, int dimension, Instructions instructions) {
  const ArithmeticKernels& kernels = KernelsOf(instructions);
  const int rank = RankOf(dimension);
  CycleWeights made;
  made.preconscious_to_conscious = Coupling(seed, kPreconsciousToConscious, dimension, kernels);
  made.unconscious_to_conscious = Coupling(seed, kUnconsciousToConscious, dimension, kernels);
  made.conscious_to_unconscious = Coupling(seed, kConsciousToUnconscious, dimension, kernels);

  const auto count = static_cast<std::size_t>(dimension) * static_cast<std::size_t>(rank);
  const std::vector<float> drawn = NormalNumbers(seed, kBasis, count, kernels);
  const std::vector<double> columns =
      Orthonormal(std::vector<double>(drawn.begin(), drawn.end()), dimension, rank);
  std::vector<float> transposed(count);
  std::vector<float> rows(count);
  for (std::size_t r = 0; r < static_cast<std::size_t>(rank); ++r) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(dimension); ++k) {
      const auto value = static_cast<float>(columns[r * static_cast<std::size_t>(dimension) + k]);
      transposed[r * static_cast<std::size_t>(dimension) + k] = value;
      rows[k * static_cast<std::size_t>(rank) + r] = value;
    }
  }
  made.basis_transposed = PackedMatrix(transposed, rank, dimension);
  made.basis = PackedMatrix(rows, dimension, rank);
  made.strengths.resize(static_cast<std::size_t>(PaddedOf(rank)));
  for (int i = 0; i < rank; ++i) {
    made.strengths[i] = static_cast<float>(StrengthOf(i, dimension));
  }

  const int sizes[4] = {dimension, kHiddenUnits, kHiddenUnits, dimension};
  for (std::uint32_t i = 0; i < made.perceptron.size(); ++i) {
    made.perceptron[i] = MakeLayer(seed, kPerceptronFirst + 2 * i, sizes[i + 1], sizes[i]);
  }
  return made;
}

}  // namespace reveza::phi
