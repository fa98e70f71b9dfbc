// Reference implementation of the model for tests: one run, one element at a time, in the order of
// docs/phi-cycles.md, with the scalar functions of phi_math.h.
#pragma once

#include <cstdint>
#include <vector>

#include "phi/cycles/model.h"
#include "phi/cycles/weights.h"

namespace reveza::phi {

class ReferenceRun {
 public:
  ReferenceRun(const CycleConstants& constants, std::uint64_t seed, std::uint32_t run,
               const CycleWeights& weights);

  // Advances one cycle.
  Observation Next();

 private:
  using Numbers = std::vector<float>;

  int d() const { return constants_.dimension; }
  float Draw(int vector, std::uint32_t draw, int element) const;
  Numbers Product(const PackedMatrix& matrix, const Numbers& x) const;
  float Sum(const Numbers& values) const;
  float SumOfSquares(const Numbers& values) const;
  void Recur();
  void Generic(int module, const Numbers& base);
  void Write(int module, std::uint32_t number, const Numbers& wanted);
  Numbers Perceive(const Numbers& input) const;
  Observation Observe();
  float Correlation() const;

  CycleConstants constants_;
  std::uint64_t seed_;
  std::uint32_t run_;
  const CycleWeights& weights_;
  std::uint32_t cycle_ = 0;
  std::vector<Numbers> state_;
  std::vector<std::vector<Numbers>> past_;  // the triple, by slot
};

}  // namespace reveza::phi
