#include "phi/discrete/repertoires.h"

#include <bit>

namespace reveza::phi {

Repertoires::Repertoires(const DiscreteSystem& system, const Gather& gather)
    : system_(&system), gather_(&gather) {
  Fill(nullptr);
}

Repertoires::Repertoires(const Repertoires& uncut, Cut cut)
    : system_(uncut.system_), gather_(uncut.gather_), cut_(cut) {
  Fill(&uncut);
}

bool Repertoires::IsTouched(Nodes mechanism, Nodes purview) const {
  return (mechanism & cut_.to) != 0 && (purview & cut_.from) != 0;
}

void Repertoires::Fill(const Repertoires* uncut) {
  const Nodes all = system_->all();
  const std::size_t pairs = std::size_t{1} << (2 * system_->nodes());
  cause_.resize(pairs);
  marginals_.resize(pairs);
  std::size_t needed = 0;
  for (Nodes mechanism = 0; mechanism <= all; ++mechanism) {
    for (Nodes purview = 0; purview <= all; ++purview) {
      if (uncut != nullptr && !IsTouched(mechanism, purview)) continue;
      needed += StatesOf(purview) + static_cast<std::size_t>(CountOf(purview));
    }
  }
  values_.resize(needed);
  double* free = values_.data();
  for (Nodes mechanism = 0; mechanism <= all; ++mechanism) {
    for (Nodes purview = 0; purview <= all; ++purview) {
      const std::size_t at = At(mechanism, purview);
      if (uncut != nullptr && !IsTouched(mechanism, purview)) {
        cause_[at] = uncut->cause_[at];
        marginals_[at] = uncut->marginals_[at];
        continue;
      }
      double* const cause = free;
      double* const marginals = cause + StatesOf(purview);
      free = marginals + CountOf(purview);
      Compute(mechanism, purview, cause, marginals);
      cause_[at] = cause;
      marginals_[at] = marginals;
    }
  }
}

void Repertoires::Compute(Nodes mechanism, Nodes purview, double* cause, double* marginals) const {
  const std::size_t states = StatesOf(purview);
  const int places = CountOf(purview);
  if (mechanism == 0) {
    for (std::size_t s = 0; s < states; ++s) cause[s] = 1 / static_cast<double>(states);
  } else {
    const int node = std::countr_zero(mechanism);
    const Nodes seen = (cut_.to >> node & 1) != 0 ? purview & ~cut_.from : purview;
    const auto likelihood = system_->Likelihood(node, seen);
    const std::uint16_t* const gathered = gather_->Row((*gather_)(seen, purview));
    // The repertoire of the mechanism without that node has been computed before.
    const double* const rest = cause_[At(mechanism & (mechanism - 1), purview)];
    double sum = 0;
    for (std::size_t s = 0; s < states; ++s) {
      cause[s] = rest[s] * likelihood[gathered[s]];
      sum += cause[s];
    }
    if (sum > 0) {
      for (std::size_t s = 0; s < states; ++s) cause[s] /= sum;
    }
  }
  for (int place = 0; place < places; ++place) {
    double on = 0;
    for (std::size_t s = 0; s < states; ++s) {
      if ((s >> place & 1) != 0) on += cause[s];
    }
    marginals[place] = on;
  }
}

}  // namespace reveza::phi
