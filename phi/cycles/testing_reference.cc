#include "phi/cycles/testing_reference.h"

#include <algorithm>

namespace reveza::phi {

ReferenceRun::ReferenceRun(const CycleConstants& constants, std::uint64_t seed, std::uint32_t run,
                           const CycleWeights& weights)
    : constants_(constants), seed_(seed), run_(run), weights_(weights) {
  for (int vector = 0; vector < kStateVectors; ++vector) {
    Numbers values;
    for (int i = 0; i < d(); ++i) {
      const float normal = Draw(vector, kDrawStart, i);
      values.push_back(vector < kModules ? normal * 0.01F : normal);
    }
    state_.push_back(values);
  }
}

float ReferenceRun::Draw(int vector, std::uint32_t draw, int element) const {
  const DrawPosition at{.key = KeyOf(seed_),
                        .run = run_,
                        .cycle = cycle_,
                        .site = static_cast<std::uint32_t>(vector) * 16 + draw};
  return NormalAt(at, static_cast<std::uint32_t>(element));
}

ReferenceRun::Numbers ReferenceRun::Product(const PackedMatrix& matrix, const Numbers& x) const {
  Numbers made;
  for (int o = 0; o < matrix.outputs(); ++o) {
    float sum = 0;
    for (int k = 0; k < matrix.inputs(); ++k) {
      sum = Fma(matrix.At(o, k), x[k], sum);
    }
    made.push_back(sum);
  }
  return made;
}

float ReferenceRun::Sum(const Numbers& values) const {
  float lane[64] = {};
  for (std::size_t i = 0; i < values.size(); ++i) lane[i % 64] += values[i];
  for (int half = 32; half >= 1; half /= 2) {
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0];
}

float ReferenceRun::SumOfSquares(const Numbers& values) const {
  float lane[64] = {};
  for (std::size_t i = 0; i < values.size(); ++i) {
    lane[i % 64] = Fma(values[i], values[i], lane[i % 64]);
  }
  for (int half = 32; half >= 1; half /= 2) {
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0];
}

void ReferenceRun::Recur() {
  const Numbers conscious = state_[kRhoConscious];
  const Numbers preconscious = state_[kRhoPreconscious];
  const Numbers unconscious = state_[kRhoUnconscious];
  const Numbers p = Product(weights_.preconscious_to_conscious, preconscious);
  const Numbers q = Product(weights_.unconscious_to_conscious, unconscious);
  const Numbers r = Product(weights_.conscious_to_unconscious, conscious);
  Numbers y = Product(weights_.basis_transposed, unconscious);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] *= weights_.strengths[i];
  const Numbers operated = Product(weights_.basis, y);
  for (std::size_t i = 0; i < conscious.size(); ++i) {
    float stimulus = state_[0][i];
    for (std::size_t module = 1; module < 6; ++module) stimulus += state_[module][i];
    stimulus *= 1.0F / 6.0F;
    const float driven = conscious[i] + stimulus + p[i];
    const float made = Fma(1.0F - constants_.repression, Tanh(q[i]), Tanh(driven));
    state_[kRhoConscious][i] = made;
    state_[kRhoPreconscious][i] =
        Fma(constants_.decay, preconscious[i], made * (1.0F - constants_.decay));
    state_[kRhoUnconscious][i] = Tanh(operated[i] + r[i]);
  }
}

void ReferenceRun::Write(int module, std::uint32_t number, const Numbers& wanted) {
  Numbers made;
  for (int i = 0; i < d(); ++i) {
    made.push_back(Fma(Draw(module, kDrawLangevin + number, i), Sqrt(2.0F * constants_.temperature),
                       wanted[i]));
  }
  const float norm = Sqrt(SumOfSquares(made));
  const float back = norm > 0 ? Sqrt(SumOfSquares(wanted)) / norm : 1.0F;
  Numbers& embedding = state_[module];
  Numbers step;
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] *= back;
    step.push_back(made[i] - embedding[i]);
  }
  embedding = made;
  const auto count = static_cast<float>(d());
  const float mean = Sum(step) / count;
  const float variance = Fma(-mean, mean, SumOfSquares(step) / count);
  if (variance >= constants_.min_variance) return;
  const float missing = Sqrt(constants_.min_variance - variance);
  for (int i = 0; i < d(); ++i) {
    float& each = embedding[i];
    each = Fma(Draw(module, kDrawFloor + number, i), missing, each);
  }
}

void ReferenceRun::Generic(int module, const Numbers& base) {
  Numbers out;
  for (int i = 0; i < d(); ++i) {
    out.push_back(Fma(Draw(module, kDrawNoise, i), 0.1F, base[i]));
  }
  const float base_norm = Sqrt(SumOfSquares(base));
  const float norm = Sqrt(SumOfSquares(out));
  const float factor = norm > 0 ? Fma(0.1F, norm / std::max(1.0F, base_norm), 0.9F) / norm : 1.0F;
  for (float& each : out) each *= factor;
  Write(module, 0, out);
  const bool twice = module == kSensoryInput || module == kNarrative;
  if (twice) Write(module, 1, Numbers(state_[module]));
}

ReferenceRun::Numbers ReferenceRun::Perceive(const Numbers& input) const {
  const PhiloxBlock words =
      Philox({{0, run_, cycle_, static_cast<std::uint32_t>(kExpectation) * 16 + kDrawChoice}},
             KeyOf(seed_));
  Numbers x;
  for (int i = 0; i < d(); ++i) {
    const float noise = Draw(kExpectation, kDrawCopy + (words.word[0] >> 30), i);
    x.push_back(Fma(noise, 0.1F, input[i]));
  }
  for (std::size_t layer = 0; layer < 3; ++layer) {
    Numbers y = Product(weights_.perceptron[layer].weights, x);
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] += weights_.perceptron[layer].offsets[i];
      if (layer < 2 && y[i] < 0) y[i] = 0;
    }
    x = y;
  }
  return x;
}

Observation ReferenceRun::Next() {
  ++cycle_;
  Recur();
  Numbers base;
  for (int i = 0; i < d(); ++i) {
    base.push_back(Fma(constants_.feedback, state_[kImagination][i],
                       Draw(kSensoryInput, kDrawBase, i) * 0.1F));
  }
  Generic(kSensoryInput, base);
  Generic(kQualia, Numbers(state_[kSensoryInput]));
  Generic(kNarrative, Numbers(state_[kQualia]));
  Generic(kMeaningMaker, Numbers(state_[kNarrative]));
  Numbers expected = Perceive(state_[kMeaningMaker]);
  for (int i = 0; i < d(); ++i) {
    float& each = expected[i];
    each = Fma(Draw(kExpectation, kDrawNoise, i), 0.05F, each);
  }
  Write(kExpectation, 0, expected);
  for (std::size_t i = 0; i < base.size(); ++i) {
    base[i] = (state_[kNarrative][i] + state_[kExpectation][i]) * 0.5F;
  }
  Generic(kImagination, base);
  return Observe();
}

Observation ReferenceRun::Observe() {
  Observation made;
  const auto padded = static_cast<std::uint32_t>((d() + 63) / 64 * 64);
  for (std::uint32_t vector = 0; vector < kStateVectors; ++vector) {
    const Numbers& values = state_[vector];
    for (std::uint32_t i = 0; i < padded; ++i) {
      made.hash += HashWord(i < values.size() ? Bits(values[i]) : 0, vector * padded + i);
    }
    if (vector < kModules) {
      made.mean[vector] = Sum(values) / static_cast<float>(d());
      made.first[vector] = values[0];
    } else {
      made.rho_norm[vector - kModules] = Sqrt(SumOfSquares(values));
    }
  }
  const std::vector<Numbers> triple(state_.begin() + kModules, state_.end());
  if (past_.size() < 20) {
    past_.push_back(triple);
  } else {
    past_[(cycle_ - 1) % 20] = triple;
  }
  if (past_.size() >= 3) made.rho_correlation = Correlation();
  return made;
}

float ReferenceRun::Correlation() const {
  const float share = 1.0F / static_cast<float>(past_.size());
  float total = 0;
  for (const auto& [a, b] : {std::pair(0U, 1U), std::pair(0U, 2U), std::pair(1U, 2U)}) {
    Numbers each;
    for (std::size_t i = 0; i < static_cast<std::size_t>(d()); ++i) {
      float mean_a = 0;
      float mean_b = 0;
      for (const auto& slot : past_) {
        mean_a += slot[a][i];
        mean_b += slot[b][i];
      }
      mean_a *= share;
      mean_b *= share;
      float aa = 0;
      float bb = 0;
      float ab = 0;
      for (const auto& slot : past_) {
        const float x = slot[a][i] - mean_a;
        const float y = slot[b][i] - mean_b;
        aa = Fma(x, x, aa);
        bb = Fma(y, y, bb);
        ab = Fma(x, y, ab);
      }
      each.push_back(aa * bb > 0 ? std::max(ab, -ab) / Sqrt(aa * bb) : 0);
    }
    total += Sum(each);
  }
  return total / (3.0F * static_cast<float>(d()));
}

}  // namespace reveza::phi
