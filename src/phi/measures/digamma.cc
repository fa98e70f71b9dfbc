#include "phi/measures/digamma.h"

#include <cmath>

namespace reveza::phi {

double Digamma(double x) {
  double value = 0.0;
  for (; x < 12.0; x += 1.0) value -= 1.0 / x;
  const double r = 1.0 / (x * x);
  return value + std::log(x) - 0.5 / x -
         r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132)))));
}

}  // namespace reveza::phi
