#include "phi/discrete/dense_transport.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace reveza::phi {
namespace {

constexpr double kNegligibleMass = 1e-13;
constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

}  // namespace

TransportPlan::TransportPlan(std::vector<double> supplies, std::vector<double> demands,
                             std::vector<double> costs)
    : supplies_(std::move(supplies)),
      demands_(std::move(demands)),
      costs_(std::move(costs)),
      rows_(supplies_.size()),
      places_(supplies_.size() + demands_.size()),
      flow_(costs_.size(), 0.0),
      potential_(places_, 0.0) {
  // The highest valid potentials of the demands, so that the first searches end early.
  const std::size_t columns = places_ - rows_;
  for (std::size_t column = 0; column < columns; ++column) {
    double least = costs_[column];
    for (std::size_t row = 1; row < rows_; ++row) {
      least = std::min(least, costs_[row * columns + column]);
    }
    potential_[rows_ + column] = least;
  }
}

std::vector<Shipment> TransportPlan::Cheapest() {
  while (ShipMore()) {
  }
  std::vector<Shipment> shipments;
  const std::size_t columns = places_ - rows_;
  for (std::size_t i = 0; i < flow_.size(); ++i) {
    if (flow_[i] > 0) shipments.push_back({i / columns, i % columns, flow_[i]});
  }
  return shipments;
}

// The potentials stay valid: no cost decreased, and no flow remains where one increased.
void TransportPlan::RaiseCost(std::size_t from, std::size_t to, double cost) {
  const std::size_t pair = Pair(from, rows_ + to);
  costs_[pair] = cost;
  supplies_[from] += flow_[pair];
  demands_[to] += flow_[pair];
  flow_[pair] = 0;
}

// Ships along one shortest path. Returns false if nothing is left to ship.
bool TransportPlan::ShipMore() {
  const auto start =
      std::ranges::find_if(supplies_, [](double left) { return left > kNegligibleMass; });
  if (start == supplies_.end()) return false;
  const std::size_t end = NearestDemand(static_cast<std::size_t>(start - supplies_.begin()));
  // Ignore the remainder of rounding.
  if (end == kNone) {
    *start = 0;
    return true;
  }
  for (std::size_t place = 0; place < places_; ++place) {
    potential_[place] += std::min(distance_[place], distance_[end]);
  }
  Ship(end);
  return true;
}

// Returns the reduced cost of one more unit from place to place; kFar if none may be moved.
double TransportPlan::Reduced(std::size_t from, std::size_t to) const {
  const bool forwards = from < rows_;
  const std::size_t pair = forwards ? Pair(from, to) : Pair(to, from);
  if (!forwards && flow_[pair] <= 0) return kFar;
  const double cost = forwards ? costs_[pair] : -costs_[pair];
  return std::max(0.0, cost + potential_[from] - potential_[to]);
}

// Dijkstra's algorithm, stopped at the first place with unmet demand.
std::size_t TransportPlan::NearestDemand(std::size_t start) {
  distance_.assign(places_, kFar);
  before_.assign(places_, kNone);
  done_.assign(places_, false);
  distance_[start] = 0;
  for (;;) {
    std::size_t here = kNone;
    for (std::size_t place = 0; place < places_; ++place) {
      if (!done_[place] && distance_[place] < kFar &&
          (here == kNone || distance_[place] < distance_[here])) {
        here = place;
      }
    }
    if (here == kNone) return kNone;
    done_[here] = true;
    if (here >= rows_ && demands_[here - rows_] > kNegligibleMass) return here;
    const std::size_t begin = here < rows_ ? rows_ : 0;
    const std::size_t end = here < rows_ ? places_ : rows_;
    for (std::size_t there = begin; there < end; ++there) {
      if (done_[there]) continue;
      const double distance = distance_[here] + Reduced(here, there);
      if (distance < distance_[there]) {
        distance_[there] = distance;
        before_[there] = here;
      }
    }
  }
}

void TransportPlan::Ship(std::size_t end) {
  double amount = demands_[end - rows_];
  std::size_t start = end;
  for (; before_[start] != kNone; start = before_[start]) {
    if (start < rows_) amount = std::min(amount, flow_[Pair(start, before_[start])]);
  }
  amount = std::min(amount, supplies_[start]);
  for (std::size_t place = end; before_[place] != kNone; place = before_[place]) {
    if (place < rows_) {
      double& flow = flow_[Pair(place, before_[place])];
      flow -= amount;
      if (flow < kNegligibleMass) flow = 0;
    } else {
      flow_[Pair(before_[place], place)] += amount;
    }
  }
  supplies_[start] -= amount;
  demands_[end - rows_] -= amount;
}

}  // namespace reveza::phi
