// What is counted of rows, honest ones and frauds apart. Values, safe from any thread that owns
// them. Nothing here becomes a value of a data set, so floating point will do.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace reveza::datagen::report {

struct Pair {
  uint64_t honest = 0;
  uint64_t fraud = 0;

  void Add(bool is_fraud) { ++(is_fraud ? fraud : honest); }
  uint64_t all() const { return honest + fraud; }

  friend bool operator==(const Pair&, const Pair&) = default;
};

// Amounts of money by their size: so many bins for a factor of ten, from one centavo on.
class Amounts {
 public:
  static constexpr std::size_t kBinsPerDecade = 40;
  static constexpr std::size_t kDecades = 12;

  void Add(int64_t centavos, bool is_fraud) {
    (is_fraud ? fraud_sum_ : honest_sum_) += centavos;
    if (centavos <= 0) {
      below_.Add(is_fraud);
      return;
    }
    const double place = std::log10(static_cast<double>(centavos)) * kBinsPerDecade;
    bins_[std::min(static_cast<std::size_t>(place + 1e-9), bins_.size() - 1)].Add(is_fraud);
  }

  // Bin i begins at 10^(i / kBinsPerDecade) centavos.
  const std::array<Pair, kBinsPerDecade * kDecades>& bins() const { return bins_; }
  // Of nothing or less.
  const Pair& below() const { return below_; }
  int64_t honest_sum() const { return honest_sum_; }
  int64_t fraud_sum() const { return fraud_sum_; }
  // In centavos, true to the width of a bin; 0 where there is none.
  double Median(uint64_t Pair::* side) const {
    uint64_t all = below_.*side;
    for (const Pair& bin : bins_) all += bin.*side;
    uint64_t seen = below_.*side;
    if (all == 0 || 2 * seen >= all) return 0;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
      const uint64_t here = bins_[i].*side;
      if (2 * (seen + here) >= all) {
        const double into =
            (static_cast<double>(all) / 2 - static_cast<double>(seen)) / static_cast<double>(here);
        return std::pow(10, (static_cast<double>(i) + into) / kBinsPerDecade);
      }
      seen += here;
    }
    return 0;
  }

 private:
  std::array<Pair, kBinsPerDecade * kDecades> bins_{};
  Pair below_;
  int64_t honest_sum_ = 0;
  int64_t fraud_sum_ = 0;
};

// Days since 1970, of which at most so many are kept: a damaged file must not fill the memory.
class Days {
 public:
  static constexpr std::size_t kMost = 100'000;

  void Add(int64_t day, bool is_fraud) {
    if (last_ == nullptr || day != last_day_) {
      if (days_.size() >= kMost && !days_.contains(day)) return;
      last_ = &days_[day];
      last_day_ = day;
    }
    last_->Add(is_fraud);
  }
  const std::map<int64_t, Pair>& all() const { return days_; }

 private:
  std::map<int64_t, Pair> days_;
  Pair* last_ = nullptr;  // rows of one day mostly follow each other
  int64_t last_day_ = 0;
};

}  // namespace reveza::datagen::report
