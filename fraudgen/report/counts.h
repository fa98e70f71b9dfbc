// Counters of honest and fraudulent rows, and their JSON. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace reveza::fraudgen::report {

using Json = nlohmann::ordered_json;

struct Pair {
  uint64_t honest = 0;
  uint64_t fraud = 0;

  void Add(bool is_fraud) { ++(is_fraud ? fraud : honest); }
  uint64_t all() const { return honest + fraud; }

  friend bool operator==(const Pair&, const Pair&) = default;
};

// Returns one array of the honest counts and one of the fraudulent.
template <typename Pairs>
Json PairsJson(const Pairs& pairs) {
  Json json = {{"honest", Json::array()}, {"fraud", Json::array()}};
  for (const Pair& pair : pairs) {
    json["honest"].push_back(pair.honest);
    json["fraud"].push_back(pair.fraud);
  }
  return json;
}

inline double Reais(double centavos) { return centavos / 100; }

// A logarithmic histogram of amounts, starting at one centavo.
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

  // `rows` is the number of rows. Bin i begins at 10^(i / bins_per_decade) centavos; `below` has
  // amounts of 0 or less.
  Json ToJson(const Pair& rows) const {
    const auto mean = [](int64_t sum, uint64_t count) {
      return count == 0 ? 0 : Reais(static_cast<double>(sum) / static_cast<double>(count));
    };
    Json json = PairsJson(bins_);
    json["bins_per_decade"] = kBinsPerDecade;
    json["below"] = {{"honest", below_.honest}, {"fraud", below_.fraud}};
    json["mean"] = {{"honest", mean(honest_sum_, rows.honest)},
                    {"fraud", mean(fraud_sum_, rows.fraud)}};
    json["median"] = {{"honest", Reais(Median(&Pair::honest))},
                      {"fraud", Reais(Median(&Pair::fraud))}};
    return json;
  }

  // Returns the median in centavos, accurate to a bin; 0 without amounts.
  double Median(uint64_t Pair::* side) const {
    uint64_t all = below_.*side;
    for (const Pair& bin : bins_) all += bin.*side;
    uint64_t before = below_.*side;
    if (all == 0 || 2 * before >= all) return 0;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
      const uint64_t here = bins_[i].*side;
      if (2 * (before + here) >= all) {
        const double into = (static_cast<double>(all) / 2 - static_cast<double>(before)) /
                            static_cast<double>(here);
        return std::pow(10, (static_cast<double>(i) + into) / kBinsPerDecade);
      }
      before += here;
    }
    return 0;
  }

 private:
  std::array<Pair, kBinsPerDecade * kDecades> bins_{};
  Pair below_;
  int64_t honest_sum_ = 0;
  int64_t fraud_sum_ = 0;
};

// Counts by days since 1970. The number of days is limited, to bound memory for damaged files.
class Days {
 public:
  static constexpr std::size_t kMaxDays = 100'000;

  void Add(int64_t day, bool is_fraud) {
    if (last_ == nullptr || day != last_day_) {
      if (days_.size() >= kMaxDays && !days_.contains(day)) return;
      last_ = &days_[day];
      last_day_ = day;
    }
    last_->Add(is_fraud);
  }
  const std::map<int64_t, Pair>& all() const { return days_; }

 private:
  std::map<int64_t, Pair> days_;
  Pair* last_ = nullptr;  // caches the last day
  int64_t last_day_ = 0;
};

}  // namespace reveza::fraudgen::report
