// The parts of a cycle that process one run at a time; cycles/pass_templates.h is the CPU version.
// A block of 64 threads processes one run; thread l owns elements l, l + 64, ... of every vector,
// so that threads synchronise only to share normal numbers and to fold sums.
#pragma once

#include "phi/arithmetic/phi_math.h"
#include "phi/gpu/kernel_arguments.h"

namespace reveza::phi {

// Makes the normal numbers of all elements. A thread computes the four of one Philox block, which
// belong to four threads. Not inlined, so that the code of a pass fits the instruction cache.
static __device__ __noinline__ void MakeNoise(DrawPosition at, std::uint32_t site, int dimension,
                                              int padded, float* noise) {
  at.site = site;
  for (int block = static_cast<int>(threadIdx.x); block < padded / 4; block += kGroup) {
    const auto words = PhiloxLanes(static_cast<std::uint32_t>(block), at);
    float normal[4];
    BoxMuller<ScalarLanes>(words.word[0], words.word[1], normal[0], normal[1]);
    BoxMuller<ScalarLanes>(words.word[2], words.word[3], normal[2], normal[3]);
    const int first = block / 16 * kGroup + block % 16;
    for (int j = 0; j < 4; ++j) {
      const int element = first + 16 * j;
      noise[element] = element < dimension ? normal[j] : 0.0F;
    }
  }
}

// `kGroups` is the number of groups of 64 elements if known at compile time, else 0.
template <int kGroups>
class GpuRun {
 public:
  // `shared`: GpuPassBytes.
  __device__ GpuRun(const GpuPass& pass, float* shared)
      : pass_(pass),
        constants_(pass.constants),
        run_(blockIdx.x),
        work_(shared),
        noise_(shared + PaddedOf(pass.constants.dimension)) {
    const std::uint64_t cycle = *pass.cycle + static_cast<std::uint64_t>(pass.step) + 1;
    cycle_ = cycle;
    at_ = {.key = pass.key,
           .run = pass.first_run + blockIdx.x,
           .cycle = static_cast<std::uint32_t>(cycle),
           .site = 0};
  }

  __device__ void Recur() {
    const float* from_unconscious =
        pass_.from_unconscious + std::int64_t{run_} * (padded() + kGroup);
    const float passes = 1.0F - constants_.repression;
    const float gain = 1.0F - constants_.decay;
    float* conscious = Vector(kRhoConscious);
    float* preconscious = Vector(kRhoPreconscious);
    float* unconscious = Vector(kRhoUnconscious);
    const float* from_preconscious = Row(pass_.from_preconscious);
    const float* from_conscious = Row(pass_.from_conscious);
    const float* operated = Row(pass_.operated);
    ForEach([&](int at) {
      float stimulus = Vector(0)[at];
      for (int module = 1; module < kModules; ++module) stimulus = stimulus + Vector(module)[at];
      stimulus = stimulus * (1.0F / 6.0F);
      const float driven = conscious[at] + stimulus + __ldg(from_preconscious + at);
      const float leaked = Tanh(__ldg(from_unconscious + at));
      const float made = Fma(passes, leaked, Tanh(driven));
      conscious[at] = made;
      preconscious[at] = Fma(constants_.decay, preconscious[at], made * gain);
      unconscious[at] = Tanh(__ldg(operated + at) + __ldg(from_conscious + at));
    });
  }

  // Writes the input of sensory_input, noise and feedback, to the work vector.
  __device__ const float* Sense() {
    const float* fed = Vector(kImagination);
    WithNoise(SiteOf(kSensoryInput, kDrawBase), [&](int at, float noise) {
      work_[at] = Fma(constants_.feedback, fed[at], noise * kModuleNoise);
    });
    return work_;
  }

  __device__ __forceinline__ void Generic(int module, const float* input, const float* other) {
    float base_square = 0.0F;
    float out_square = 0.0F;
    WithNoise(SiteOf(module, kDrawNoise), [&](int at, float noise) {
      float base = input[at];
      if (other != nullptr) base = (base + other[at]) * 0.5F;
      const float made = Fma(noise, kModuleNoise, base);
      base_square = Fma(base, base, base_square);
      out_square = Fma(made, made, out_square);
      work_[at] = made;
    });
    const float2 total = Totals(base_square, out_square);
    const float base_norm = Sqrt(total.x);
    const float norm = Sqrt(total.y);
    float factor = 1.0F;
    if (norm > 0.0F) {
      const float share = Divide(norm, base_norm > 1.0F ? base_norm : 1.0F);
      factor = Divide(Fma(kNormShare, share, kNormFloor), norm);
    }
    Write(module, factor);
  }

  __device__ void Choose(const float* input, float* to) {
    DrawPosition at = at_;
    at.site = SiteOf(kExpectation, kDrawChoice);
    const std::uint32_t choice = PhiloxLanes(std::uint32_t{0}, at).word[0] >> 30;
    WithNoise(SiteOf(kExpectation, kDrawCopy + choice),
              [&](int i, float noise) { to[i] = Fma(noise, kModuleNoise, input[i]); });
  }

  __device__ void Expect(const float* perceived) {
    WithNoise(SiteOf(kExpectation, kDrawNoise), [&](int at, float noise) {
      work_[at] = Fma(noise, kExpectationNoise, __ldg(perceived + at));
    });
    Write(kExpectation, 1.0F);
  }

  __device__ void Observe(Observation& observation) {
    const auto dimension = static_cast<float>(constants_.dimension);
    std::uint64_t hash = 0;
    for (int vector = 0; vector < kStateVectors; vector += 3) {
      float sum[3] = {};
      for (int i = 0; i < 3; ++i) {
        const float* values = Vector(vector + i);
        const auto first = static_cast<std::uint32_t>((vector + i) * padded());
        ForEach([&](int at) {
          const float each = values[at];
          hash += HashWord(Bits(each), first + static_cast<std::uint32_t>(at));
          sum[i] = vector < kModules ? sum[i] + each : Fma(each, each, sum[i]);
        });
      }
      const float2 two = Totals(sum[0], sum[1]);
      const float2 last = Totals(sum[2], 0.0F);
      if (Lane() == 0) {
        const float total[3] = {two.x, two.y, last.x};
        for (int i = 0; i < 3; ++i) {
          if (vector < kModules) {
            observation.mean[vector + i] = Divide(total[i], dimension);
            observation.first[vector + i] = Vector(vector + i)[0];
          } else {
            observation.rho_norm[i] = Sqrt(total[i]);
          }
        }
      }
    }
    hash = TotalHash(hash);
    if (Lane() == 0) {
      observation.hash = hash;
      observation.rho_correlation = -1.0F;
    }
  }

  // Stores the triple in the ring and, after enough cycles, computes its correlation.
  __device__ void Correlate(Observation& observation) {
    const int triple = 3 * padded();
    float* ring = pass_.ring + std::int64_t{run_} * kCorrelationWindow * triple;
    const auto slot = static_cast<int>((cycle_ - 1) % kCorrelationWindow);
    for (int at = Lane(); at < triple; at += kGroup) {
      ring[slot * triple + at] = Vector(kRhoConscious)[at];
    }
    const int filled = cycle_ < kCorrelationWindow ? static_cast<int>(cycle_) : kCorrelationWindow;
    if (filled < kMinCorrelated) return;
    float sum[3] = {};
    for (int at = Lane(); at < padded(); at += kGroup) CorrelateOne(ring + at, filled, sum);
    const float2 two = Totals(sum[0], sum[1]);
    const float2 last = Totals(sum[2], 0.0F);
    if (Lane() != 0) return;
    observation.rho_correlation =
        Divide(two.x + two.y + last.x, 3.0F * static_cast<float>(constants_.dimension));
  }

  __device__ float* Vector(int vector) const {
    return pass_.state + (std::int64_t{run_} * kStateVectors + vector) * padded();
  }
  __device__ const float* Row(const float* rows) const {
    return rows + std::int64_t{run_} * padded();
  }
  __device__ float* Row(float* rows) const { return rows + std::int64_t{run_} * padded(); }

 private:
  __device__ int padded() const {
    return kGroups > 0 ? kGroups * kGroup : PaddedOf(constants_.dimension);
  }
  __device__ static int Lane() { return static_cast<int>(threadIdx.x); }

  // Calls body(element) for the elements of this thread; unrolled so that loads overlap.
  template <class Body>
  __device__ __forceinline__ void ForEach(const Body& body) const {
#pragma unroll(kGroups > 0 ? kGroups : 1)
    for (int group = 0; group < padded() / kGroup; ++group) body(group * kGroup + Lane());
  }

  // Calls body(element, normal number) for the elements of this thread.
  template <class Body>
  __device__ void WithNoise(std::uint32_t site, const Body& body) {
    MakeNoise(at_, site, constants_.dimension, padded(), noise_);
    __syncthreads();
    ForEach([&](int at) { body(at, noise_[at]); });
    __syncthreads();
  }

  // Writes `factor` times the work vector to the module, and writes modules with two writes again.
  __device__ __forceinline__ void Write(int module, float factor) {
    const auto writes = static_cast<std::uint32_t>(WritesOf(module));
#pragma unroll 1
    for (std::uint32_t number = 0; number < writes; ++number) {
      if (number > 0) {
        ForEach([&](int at) { work_[at] = Vector(module)[at]; });
      }
      WriteOnce(module, number, number > 0 ? 1.0F : factor);
    }
  }

  __device__ __forceinline__ void WriteOnce(int module, std::uint32_t number, float factor) {
    const float spread = Sqrt(2.0F * constants_.temperature);
    float before = 0.0F;
    float after = 0.0F;
    WithNoise(SiteOf(module, kDrawLangevin + number), [&](int at, float noise) {
      const float wanted = work_[at] * factor;
      const float made = Fma(noise, spread, wanted);
      before = Fma(wanted, wanted, before);
      after = Fma(made, made, after);
      work_[at] = made;
    });
    const float2 squares = Totals(before, after);
    const float norm = Sqrt(squares.y);
    const float back = norm > 0.0F ? Divide(Sqrt(squares.x), norm) : 1.0F;
    float* embedding = Vector(module);
    float sum = 0.0F;
    float square = 0.0F;
    ForEach([&](int at) {
      const float made = work_[at] * back;
      const float step = made - embedding[at];
      sum = sum + step;
      square = Fma(step, step, square);
      embedding[at] = made;
    });
    const float2 moments = Totals(sum, square);
    const auto dimension = static_cast<float>(constants_.dimension);
    const float mean = Divide(moments.x, dimension);
    const float variance = Fma(-mean, mean, Divide(moments.y, dimension));
    if (variance >= constants_.min_variance) return;
    const float missing = Sqrt(constants_.min_variance - variance);
    WithNoise(SiteOf(module, kDrawFloor + number),
              [&](int at, float noise) { embedding[at] = Fma(noise, missing, embedding[at]); });
  }

  // Returns two sums over the threads, the same in all of them: lane l adds lane l + h, for h = 32,
  // 16, ... 1. Within a warp both lanes of a pair add each other, which gives the same sum.
  __device__ float2 Totals(float a, float b) {
    __shared__ float2 partial[2][kGroup];
    float2* mine = partial[turn_];
    turn_ ^= 1;  // double-buffered: all threads pass another barrier before this half is reused
    mine[Lane()] = make_float2(a, b);
    __syncthreads();
    const int low = Lane() % 32;
    float2 sum = make_float2(mine[low].x + mine[low + 32].x, mine[low].y + mine[low + 32].y);
    for (int half = 16; half >= 1; half /= 2) {
      sum.x = sum.x + __shfl_xor_sync(0xffffffffU, sum.x, half);
      sum.y = sum.y + __shfl_xor_sync(0xffffffffU, sum.y, half);
    }
    return sum;
  }

  __device__ std::uint64_t TotalHash(std::uint64_t hash) {
    __shared__ unsigned long long partial[kGroup];
    partial[Lane()] = hash;
    __syncthreads();
    std::uint64_t sum = 0;
    if (Lane() == 0) {
      for (int lane = 0; lane < kGroup; ++lane) sum += partial[lane];
    }
    return sum;
  }

  __device__ void CorrelateOne(const float* ring, int filled, float* sum) const {
    const float share = Divide(1.0F, static_cast<float>(filled));
    const int triple = 3 * padded();
    float mean[3];
    for (int i = 0; i < 3; ++i) {
      float total = 0.0F;
      for (int time = 0; time < filled; ++time) total = total + ring[time * triple + i * padded()];
      mean[i] = total * share;
    }
    float square[3] = {};
    float product[3] = {};
    for (int time = 0; time < filled; ++time) {
      float apart[3];
      for (int i = 0; i < 3; ++i) {
        apart[i] = ring[time * triple + i * padded()] - mean[i];
        square[i] = Fma(apart[i], apart[i], square[i]);
      }
      product[0] = Fma(apart[0], apart[1], product[0]);
      product[1] = Fma(apart[0], apart[2], product[1]);
      product[2] = Fma(apart[1], apart[2], product[2]);
    }
    sum[0] = sum[0] + AbsoluteCorrelation(square[0], square[1], product[0]);
    sum[1] = sum[1] + AbsoluteCorrelation(square[0], square[2], product[1]);
    sum[2] = sum[2] + AbsoluteCorrelation(square[1], square[2], product[2]);
  }

  __device__ static float AbsoluteCorrelation(float xx, float yy, float xy) {
    const float both = xx * yy;
    if (!(0.0F < both)) return 0.0F;
    return FromBits(Bits(Divide(xy, Sqrt(both))) & 0x7fffffffU);
  }

  const GpuPass& pass_;
  const CycleConstants& constants_;
  unsigned run_;
  float* work_;
  float* noise_;
  int turn_ = 0;
  std::uint64_t cycle_;
  DrawPosition at_;
};

}  // namespace reveza::phi
