// The passes of passes.h as templates over lanes. Included by one file per instruction set.
#pragma once

#include <cstdint>

#include "phi/arithmetic/many_lanes.h"
#include "phi/cycles/model.h"
#include "phi/cycles/passes.h"

namespace reveza::phi {

template <class Lanes>
class OnePass {
 public:
  using Floats = typename Lanes::Floats;
  static constexpr int kParts = kGroup / Lanes::kCount;

  explicit OnePass(const RunPass& run)
      : run_(run), constants_(*run.constants), groups_(GroupsOf(run.constants->dimension)) {}

  void Recur(const CyclePasses::Products& products) const {
    float* conscious = Vector(kRhoConscious);
    float* preconscious = Vector(kRhoPreconscious);
    float* unconscious = Vector(kRhoUnconscious);
    const Floats passes = Lanes::Broadcast(1.0F - constants_.repression);
    const Floats decay = Lanes::Broadcast(constants_.decay);
    const float gain = 1.0F - constants_.decay;
    const float sixth = 1.0F / 6.0F;
    ForEach([&](int at, int) {
      Floats sum = Lanes::Load(Vector(0) + at);
      for (int module = 1; module < kModules; ++module) {
        sum = sum + Lanes::Load(Vector(module) + at);
      }
      const Floats driven =
          Lanes::Load(conscious + at) + sum * sixth + Lanes::Load(products.from_preconscious + at);
      const Floats leaked = Tanh(Lanes::Load(products.from_unconscious + at));
      const Floats made = Fma(passes, leaked, Tanh(driven));
      Lanes::Store(conscious + at, made);
      Lanes::Store(preconscious + at, Fma(decay, Lanes::Load(preconscious + at), made * gain));
      Lanes::Store(unconscious + at, Tanh(Lanes::Load(products.operated + at) +
                                          Lanes::Load(products.from_conscious + at)));
    });
  }

  // Updates sensory_input from noise and feedback.
  void Sense() const {
    float* base = run_.work;
    const float* fed = Vector(kImagination);
    const Floats feedback = Lanes::Broadcast(constants_.feedback);
    WithNoise(SiteOf(kSensoryInput, kDrawBase), [&](int at, int, Floats noise) {
      Lanes::Store(base + at, Fma(feedback, Lanes::Load(fed + at), noise * kModuleNoise));
    });
    Generic(kSensoryInput, base, nullptr);
  }

  // Updates a module from one or two others: mean, noise, soft scaling and writes.
  void Generic(int module, const float* input, const float* other) const {
    float* out = run_.work;
    TreeSum<Lanes> base_square;
    TreeSum<Lanes> out_square;
    WithNoise(SiteOf(module, kDrawNoise), [&](int at, int part, Floats noise) {
      Floats base = Lanes::Load(input + at);
      if (other != nullptr) base = (base + Lanes::Load(other + at)) * 0.5F;
      const Floats made = Fma(noise, kModuleNoise, base);
      base_square.AddProduct(part, base, base);
      out_square.AddProduct(part, made, made);
      Lanes::Store(out + at, made);
    });
    const float base_norm = Sqrt(base_square.Total());
    const float norm = Sqrt(out_square.Total());
    float factor = 1.0F;
    if (norm > 0.0F) {
      const float share = Divide(norm, base_norm > 1.0F ? base_norm : 1.0F);
      factor = Divide(Fma(kNormShare, share, kNormFloor), norm);
    }
    Write(module, 0, out, factor);
    if (WritesOf(module) == 2) Write(module, 1, Vector(module), 1.0F);
  }

  // Writes the randomly chosen noisy copy of `input`.
  void Choose(const float* input, float* to) const {
    DrawPosition at = run_.at;
    at.site = SiteOf(kExpectation, kDrawChoice);
    const PhiloxLanesWord choice = FirstWord(at) >> 30;
    WithNoise(SiteOf(kExpectation, kDrawCopy + choice), [&](int i, int, Floats noise) {
      Lanes::Store(to + i, Fma(noise, kModuleNoise, Lanes::Load(input + i)));
    });
  }

  void Expect(const float* perceived) const {
    WithNoise(SiteOf(kExpectation, kDrawNoise), [&](int at, int, Floats noise) {
      Lanes::Store(run_.work + at, Fma(noise, kExpectationNoise, Lanes::Load(perceived + at)));
    });
    Write(kExpectation, 0, run_.work, 1.0F);
  }

  void Observe(Observation& observation) const {
    const auto dimension = static_cast<float>(constants_.dimension);
    auto hashes = Lanes::NoHashes();
    for (int vector = 0; vector < kStateVectors; ++vector) {
      const float* values = Vector(vector);
      const auto first = static_cast<std::uint32_t>(vector * groups_ * kGroup);
      TreeSum<Lanes> sum;
      ForEach([&](int at, int part) {
        const Floats each = Lanes::Load(values + at);
        Lanes::AddHashes(hashes, each, first + static_cast<std::uint32_t>(at));
        if (vector < kModules) {
          sum.Add(part, each);
        } else {
          sum.AddProduct(part, each, each);
        }
      });
      if (vector < kModules) {
        observation.mean[vector] = Divide(sum.Total(), dimension);
        observation.first[vector] = values[0];
      } else {
        observation.rho_norm[vector - kModules] = Sqrt(sum.Total());
      }
    }
    observation.hash = Lanes::FoldHash(hashes);
  }

  float* Vector(int vector) const {
    return run_.state + static_cast<std::ptrdiff_t>(vector) * groups_ * kGroup;
  }

 private:
  using PhiloxLanesWord = std::uint32_t;

  // Does not use Philox() of philox.h: the linker could pick a copy compiled for other
  // instructions.
  static PhiloxLanesWord FirstWord(const DrawPosition& at) {
    const auto words = PhiloxLanes(Lanes::Numbers(), at);
    alignas(64) float lanes[Lanes::kCount];
    Lanes::Store(lanes, FromBits(words.word[0]));
    return __builtin_bit_cast(PhiloxLanesWord, lanes[0]);
  }

  // Calls body(index of the first lane, index of the part within its group).
  template <class Body>
  void ForEach(const Body& body) const {
    for (int group = 0; group < groups_; ++group) {
      for (int part = 0; part < kParts; ++part) body(group * kGroup + part * Lanes::kCount, part);
    }
  }

  // Like ForEach(), with normal numbers, which are +0 in the padding.
  template <class Body>
  void WithNoise(std::uint32_t site, const Body& body) const {
    DrawPosition at = run_.at;
    at.site = site;
    ForNormalGroups<Lanes>(at, groups_, [&](int group, Floats* noise) {
      if ((group + 1) * kGroup > constants_.dimension) EndNoise(group, noise);
      for (int part = 0; part < kParts; ++part) {
        body(group * kGroup + part * Lanes::kCount, part, noise[part]);
      }
    });
  }

  void EndNoise(int group, Floats* noise) const {
    float values[kGroup];
    for (int part = 0; part < kParts; ++part) {
      Lanes::Store(values + part * Lanes::kCount, noise[part]);
    }
    for (int i = constants_.dimension - group * kGroup; i < kGroup; ++i) values[i] = 0.0F;
    for (int part = 0; part < kParts; ++part) {
      noise[part] = Lanes::Load(values + part * Lanes::kCount);
    }
  }

  // Writes `factor` times `from`, which may be the module's embedding, to the module: adds Langevin
  // noise, restores the norm and enforces the minimum variance of the step.
  void Write(int module, std::uint32_t number, const float* from, float factor) const {
    float* work = run_.work;
    const Floats spread = Lanes::Broadcast(Sqrt(2.0F * constants_.temperature));
    TreeSum<Lanes> before;
    TreeSum<Lanes> after;
    WithNoise(SiteOf(module, kDrawLangevin + number), [&](int at, int part, Floats noise) {
      const Floats wanted = Lanes::Load(from + at) * factor;
      const Floats made = Fma(noise, spread, wanted);
      before.AddProduct(part, wanted, wanted);
      after.AddProduct(part, made, made);
      Lanes::Store(work + at, made);
    });
    const float norm = Sqrt(after.Total());
    const float back = norm > 0.0F ? Divide(Sqrt(before.Total()), norm) : 1.0F;
    float* embedding = Vector(module);
    TreeSum<Lanes> sum;
    TreeSum<Lanes> square;
    ForEach([&](int at, int part) {
      const Floats made = Lanes::Load(work + at) * back;
      const Floats step = made - Lanes::Load(embedding + at);
      sum.Add(part, step);
      square.AddProduct(part, step, step);
      Lanes::Store(embedding + at, made);
    });
    const auto dimension = static_cast<float>(constants_.dimension);
    const float mean = Divide(sum.Total(), dimension);
    const float variance = Fma(-mean, mean, Divide(square.Total(), dimension));
    if (variance >= constants_.min_variance) return;
    const Floats missing = Lanes::Broadcast(Sqrt(constants_.min_variance - variance));
    WithNoise(SiteOf(module, kDrawFloor + number), [&](int at, int, Floats noise) {
      Lanes::Store(embedding + at, Fma(noise, missing, Lanes::Load(embedding + at)));
    });
  }

  const RunPass& run_;
  const CycleConstants& constants_;
  int groups_;
};

template <class Lanes>
void FirstPass(const RunPass& run, const CyclePasses::Products& products, float* chosen) {
  const OnePass<Lanes> pass(run);
  pass.Recur(products);
  pass.Sense();
  pass.Generic(kQualia, pass.Vector(kSensoryInput), nullptr);
  pass.Generic(kNarrative, pass.Vector(kQualia), nullptr);
  pass.Generic(kMeaningMaker, pass.Vector(kNarrative), nullptr);
  pass.Choose(pass.Vector(kMeaningMaker), chosen);
}

template <class Lanes>
void LastPass(const RunPass& run, const float* perceived, Observation& observation) {
  const OnePass<Lanes> pass(run);
  pass.Expect(perceived);
  pass.Generic(kImagination, pass.Vector(kNarrative), pass.Vector(kExpectation));
  pass.Observe(observation);
}

template <class Lanes>
void ScaleEach(float* values, const float* by, int count) {
  for (int i = 0; i < count; i += Lanes::kCount) {
    Lanes::Store(values + i, Lanes::Load(values + i) * Lanes::Load(by + i));
  }
}

template <class Lanes>
void OffsetEach(float* values, const float* by, int count, bool rectified) {
  const auto zero = Lanes::Broadcast(0.0F);
  for (int i = 0; i < count; i += Lanes::kCount) {
    auto sum = Lanes::Load(values + i) + Lanes::Load(by + i);
    if (rectified) sum = Select(Less(sum, 0.0F), zero, sum);
    Lanes::Store(values + i, sum);
  }
}

// Returns |Pearson's r| from centred sums of squares and products; 0 if either does not vary.
template <class Lanes>
typename Lanes::Floats AbsoluteCorrelation(typename Lanes::Floats xx, typename Lanes::Floats yy,
                                           typename Lanes::Floats xy) {
  const auto zero = Lanes::Broadcast(0.0F);
  const auto both = xx * yy;
  const auto moves = Less(zero, both);
  const auto r = Divide(xy, Sqrt(Select(moves, both, Lanes::Broadcast(1.0F))));
  return Select(moves, FromBits(Bits(r) & 0x7fffffffU), zero);
}

template <class Lanes>
float CorrelationOf(const CycleConstants& constants, const float* ring, int filled) {
  using Floats = typename Lanes::Floats;
  const int padded = PaddedOf(constants.dimension);
  const std::ptrdiff_t slot = std::ptrdiff_t{3} * padded;
  const float share = 1.0F / static_cast<float>(filled);
  TreeSum<Lanes> sum[3];
  for (int at = 0; at < padded; at += Lanes::kCount) {
    Floats mean[3];
    for (int i = 0; i < 3; ++i) {
      Floats total = Lanes::Broadcast(0.0F);
      for (int time = 0; time < filled; ++time) {
        total = total + Lanes::Load(ring + time * slot + i * padded + at);
      }
      mean[i] = total * share;
    }
    Floats square[3];
    Floats product[3];
    for (int i = 0; i < 3; ++i) square[i] = product[i] = Lanes::Broadcast(0.0F);
    for (int time = 0; time < filled; ++time) {
      Floats apart[3];
      for (int i = 0; i < 3; ++i) {
        apart[i] = Lanes::Load(ring + time * slot + i * padded + at) - mean[i];
        square[i] = Fma(apart[i], apart[i], square[i]);
      }
      product[0] = Fma(apart[0], apart[1], product[0]);
      product[1] = Fma(apart[0], apart[2], product[1]);
      product[2] = Fma(apart[1], apart[2], product[2]);
    }
    const int part = at / Lanes::kCount % TreeSum<Lanes>::kParts;
    sum[0].Add(part, AbsoluteCorrelation<Lanes>(square[0], square[1], product[0]));
    sum[1].Add(part, AbsoluteCorrelation<Lanes>(square[0], square[2], product[1]));
    sum[2].Add(part, AbsoluteCorrelation<Lanes>(square[1], square[2], product[2]));
  }
  const float total = sum[0].Total() + sum[1].Total() + sum[2].Total();
  return Divide(total, 3.0F * static_cast<float>(constants.dimension));
}

template <class Lanes>
constexpr CyclePasses MakePasses() {
  return {.first = FirstPass<Lanes>,
          .last = LastPass<Lanes>,
          .scale = ScaleEach<Lanes>,
          .offset = OffsetEach<Lanes>,
          .correlation = CorrelationOf<Lanes>};
}

}  // namespace reveza::phi
