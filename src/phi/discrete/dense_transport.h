// The transportation problem with few places: supplies, demands, a cost for each pair.
// Exact up to rounding: shortest augmenting paths with potentials.
#pragma once

#include <cstddef>
#include <vector>

namespace reveza::phi {

struct Shipment {
  std::size_t from = 0;
  std::size_t to = 0;
  double amount = 0;
};

// A cheapest plan, that can be asked again after costs have risen without beginning anew.
// Not safe from several threads.
class TransportPlan {
 public:
  // The sums of `supplies` and `demands` are the same (what one has more than the other by rounding
  // stays where it is); `costs` are not negative, row by row of a supply, as many columns as
  // demands.
  TransportPlan(std::vector<double> supplies, std::vector<double> demands,
                std::vector<double> costs);

  // The shipments of a cheapest plan at these costs.
  std::vector<Shipment> Cheapest();
  // Makes one pair's cost more; what was shipped there is to be planned again.
  void RaiseCost(std::size_t from, std::size_t to, double cost);

 private:
  std::size_t Pair(std::size_t row, std::size_t column_place) const {
    return row * (places_ - rows_) + (column_place - rows_);
  }
  double Reduced(std::size_t from, std::size_t to) const;
  bool ShipMore();
  std::size_t NearestDemand(std::size_t start);
  void Ship(std::size_t end);

  std::vector<double> supplies_, demands_, costs_;
  std::size_t rows_, places_;  // supplies are the first places, then come demands
  std::vector<double> flow_, potential_, distance_;
  std::vector<std::size_t> before_;
  std::vector<bool> done_;
};

}  // namespace reveza::phi
