#include "phi/discrete/specified_states.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

namespace reveza::phi {
namespace {

// Returns the states with the most information: `selectivity[s]` times the logarithm of the ratio
// of `given[s]` and `otherwise(s)`.
template <typename Otherwise>
SpecifiedStates MostInformative(std::span<const double> given, double normaliser, Nodes purview,
                                const Otherwise& otherwise) {
  SpecifiedStates found;
  const auto information = [&](std::size_t s) {
    return given[s] <= 0 ? 0 : given[s] * normaliser * std::log2(given[s] / otherwise(s));
  };
  for (std::size_t s = 0; s < given.size(); ++s) {
    found.information = std::max(found.information, information(s));
  }
  if (found.information < kTie) return {};
  for (std::size_t s = 0; s < given.size(); ++s) {
    if (information(s) < found.information - kTie) continue;
    found.tied.push_back({ScatterBits(static_cast<Nodes>(s), purview), given[s] * normaliser});
  }
  return found;
}

}  // namespace

StateSearch::StateSearch(const CandidateSystem& system)
    : system_(&system),
      likelihood_(system.states_of_subsets()),
      constrained_(system.states_of_subsets()),
      unconstrained_(system.states_of_subsets()),
      products_(system.states_of_subsets()) {}

void StateSearch::MakeEffects(Nodes mechanism, std::size_t state,
                              std::vector<double>& products) const {
  products[system_->Offset(0)] = 1;
  for (Nodes purview = 1; purview <= system_->all(); ++purview) {
    // The state of the last node is the highest bit.
    const Nodes last = std::bit_floor(purview);
    const double on = system_->On(std::countr_zero(last), mechanism)[state];
    const double* const rest = &products[system_->Offset(purview & ~last)];
    const std::size_t states = StatesOf(purview) / 2;
    double* const off_values = &products[system_->Offset(purview)];
    double* const on_values = off_values + states;
    for (std::size_t s = 0; s < states; ++s) {
      off_values[s] = rest[s] * (1 - on);
      on_values[s] = rest[s] * on;
    }
  }
}

void StateSearch::Begin(Nodes mechanism) {
  MakeEffects(mechanism, GatherBits(system_->state(), mechanism), constrained_);
  std::ranges::fill(unconstrained_, 0.0);
  for (std::size_t state = 0; state < StatesOf(mechanism); ++state) {
    MakeEffects(mechanism, state, products_);
    for (std::size_t i = 0; i < products_.size(); ++i) unconstrained_[i] += products_[i];
  }
  const double share = 1 / static_cast<double>(StatesOf(mechanism));
  for (double& value : unconstrained_) value *= share;
  for (Nodes purview = 0; purview <= system_->all(); ++purview) {
    double* const values = &likelihood_[system_->Offset(purview)];
    std::fill_n(values, StatesOf(purview), 1.0);
    for (Nodes left = mechanism; left != 0; left &= left - 1) {
      const auto present = system_->Present(std::countr_zero(left), purview);
      for (std::size_t s = 0; s < present.size(); ++s) values[s] *= present[s];
    }
  }
}

SpecifiedStates StateSearch::Effect(Nodes purview) const {
  const std::size_t at = system_->Offset(purview);
  return MostInformative({&constrained_[at], StatesOf(purview)}, 1, purview,
                         [&](std::size_t s) { return unconstrained_[at + s]; });
}

SpecifiedStates StateSearch::Cause(Nodes purview) const {
  const std::span<const double> likelihood(&likelihood_[system_->Offset(purview)],
                                           StatesOf(purview));
  double sum = 0;
  for (const double value : likelihood) sum += value;
  if (sum == 0) return {};
  const double average = sum / static_cast<double>(likelihood.size());
  return MostInformative(likelihood, 1 / sum, purview, [&](std::size_t) { return average; });
}

}  // namespace reveza::phi
