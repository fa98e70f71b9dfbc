#include "reveza/gpu/usage/counters.h"

namespace reveza::usage {

Counters& Counters::operator+=(const Counters& other) {
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
  return *this;
}

Counters Counters::operator-(const Counters& other) const {
  Counters difference = *this;
  for (std::size_t i = 0; i < values_.size(); ++i) difference.values_[i] -= other.values_[i];
  return difference;
}

std::int64_t Counters::Waited() const {
  std::int64_t sum = 0;
  for (std::size_t i = kFirstWait; i < values_.size(); ++i) sum += values_[i];
  return sum - (*this)[Counter::kPaused];
}

}  // namespace reveza::usage
