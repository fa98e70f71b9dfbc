// The transportation problem: supplies, demands and a cost per pair, for small dense instances.
// Exact up to rounding, by successive shortest paths with potentials.
#pragma once

#include <cstddef>
#include <vector>

namespace reveza::phi {

struct Shipment {
  std::size_t from = 0;
  std::size_t to = 0;
  double amount = 0;
};

// Finds a minimum-cost plan, and updates it incrementally after costs have been raised.
// Not thread-safe.
class TransportPlan {
 public:
  // `supplies` and `demands` must have equal sums up to rounding; the difference is not shipped.
  // `costs` is row-major, supplies x demands, and not negative.
  TransportPlan(std::vector<double> supplies, std::vector<double> demands,
                std::vector<double> costs);

  // Returns the shipments of a minimum-cost plan at the current costs.
  std::vector<Shipment> Cheapest();
  // Raises the cost of a pair; its shipments are replanned by the next Cheapest().
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
  std::size_t rows_, places_;  // places are the supplies, followed by the demands
  std::vector<double> flow_, potential_, distance_;
  std::vector<std::size_t> before_;
  std::vector<bool> done_;
};

}  // namespace reveza::phi
