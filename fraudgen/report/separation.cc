#include "fraudgen/report/separation.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace reveza::fraudgen::report {
namespace {

constexpr std::size_t kExact = 64;
constexpr std::size_t kParts = 32;  // of a power of two
// 2^6 to 2^63.
constexpr std::size_t kBinsOfASign = kExact + 58 * kParts;

double Share(const Pair& pair, const Pair& of_all) {
  // Smoothed by a hundred rows of the overall share, since few rows are unreliable.
  constexpr double kWeight = 100;
  const double mean =
      static_cast<double>(of_all.fraud) / std::max(1.0, static_cast<double>(of_all.all()));
  return (static_cast<double>(pair.fraud) + kWeight * mean) /
         (static_cast<double>(pair.all()) + kWeight);
}

Pair Sum(const std::vector<Pair>& bins) {
  Pair sum;
  for (const Pair& bin : bins) {
    sum.honest += bin.honest;
    sum.fraud += bin.fraud;
  }
  return sum;
}

// Evaluates `bins` in the order learned from `guide`.
double AreaBy(const std::vector<Pair>& guide, const std::vector<Pair>& bins) {
  const Pair all = Sum(guide);
  std::vector<double> shares(guide.size());
  for (std::size_t i = 0; i < guide.size(); ++i) shares[i] = Share(guide[i], all);
  std::vector<std::size_t> order(guide.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return shares[i]; });
  std::vector<Pair> sorted;
  sorted.reserve(bins.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    // Categories with equal shares form one bin, so that their order does not matter.
    if (i > 0 && shares[order[i]] == shares[order[i - 1]]) {
      sorted.back().honest += bins[order[i]].honest;
      sorted.back().fraud += bins[order[i]].fraud;
    } else {
      sorted.push_back(bins[order[i]]);
    }
  }
  return AreaOf(sorted);
}

double EitherWay(double area) { return std::max(area, 1 - area); }

}  // namespace

double AreaOf(const std::vector<Pair>& bins) {
  const Pair all = Sum(bins);
  if (all.honest == 0 || all.fraud == 0) return 0.5;
  double area = 0;
  double honest_before = 0;
  for (const Pair& bin : bins) {
    const auto honest = static_cast<double>(bin.honest);
    area += static_cast<double>(bin.fraud) * (honest_before + honest / 2);
    honest_before += honest;
  }
  return area / (static_cast<double>(all.honest) * static_cast<double>(all.fraud));
}

NumberSeparation::NumberSeparation() : bins_(2 * kBinsOfASign) {}

std::size_t NumberSeparation::BinOf(int64_t value) {
  const bool negative = value < 0;
  const uint64_t size = negative ? ~static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::size_t bin = size;
  if (size >= kExact) {
    const auto exponent = static_cast<std::size_t>(std::bit_width(size)) - 1;  // 6 or more
    bin = kExact + (exponent - 6) * kParts + ((size >> (exponent - 5)) & (kParts - 1));
  }
  return negative ? kBinsOfASign - 1 - bin : kBinsOfASign + bin;
}

double NumberSeparation::Area() const {
  std::vector<Pair> bins;
  bins.reserve(bins_.size() + 1);
  bins.push_back(nulls_);
  bins.insert(bins.end(), bins_.begin(), bins_.end());
  const double first = EitherWay(AreaOf(bins));
  bins.front() = {};
  bins.push_back(nulls_);
  return std::max(first, EitherWay(AreaOf(bins)));
}

double CategorySeparation::Area() const {
  return (AreaBy(halves_[0], halves_[1]) + AreaBy(halves_[1], halves_[0])) / 2;
}

}  // namespace reveza::fraudgen::report
