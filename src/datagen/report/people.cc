#include "datagen/report/people.h"

#include <algorithm>

#include "datagen/check/table_check.h"

namespace reveza::datagen::report {
namespace {

// Identifiers are permutations in the one model and counts in the other; this mixes both.
uint64_t Mixed(uint64_t number) { return (number * 0x9e3779b97f4a7c15u) >> 24; }

}  // namespace

void People::LookAtCustomers(const Batch& customers) {
  const check::Field ids(customers, "customer_id");
  const check::Field states(customers, "address.state");
  for (std::size_t row = 0; row < customers.rows(); ++row) {
    if (!ids.Has(row) || !states.Has(row)) continue;
    const auto found = std::ranges::find(lists::kStates, states.Value(row), &lists::State::code);
    if (found == lists::kStates.end()) continue;
    const auto state = static_cast<State>(found - lists::kStates.begin());
    ++customers_[state];
    const uint64_t number = check::NumberOf(ids.Text(row));
    if (one_of_ <= 1 || Mixed(number) % one_of_ == 0) states_.emplace(number, state);
  }
}

const People::State* People::StateOf(std::string_view customer_id) const {
  const auto found = states_.find(check::NumberOf(customer_id));
  return found == states_.end() ? nullptr : &found->second;
}

}  // namespace reveza::datagen::report
