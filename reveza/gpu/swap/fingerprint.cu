// The kernel of fingerprints.h. Each thread folds every (blocks * threads)-th group of its piece,
// so that a warp reads consecutive groups; a block adds its threads up, the caller the blocks.
#include "reveza/gpu/swap/fingerprint_kernel.h"

namespace {

using Word = unsigned long long;
using Wide = unsigned __int128;
using reveza::swap::FingerprintPieces;
using reveza::swap::kFingerprintPrime;
using reveza::swap::kFingerprintThreads;

// Returns a number below 2^62 that is `value` modulo the prime; `value` is below 2^123.
__device__ Word Fold(Wide value) {
  return (static_cast<Word>(value) & kFingerprintPrime) + static_cast<Word>(value >> 61);
}

__device__ Word Reduce(Word value) {
  value = (value & kFingerprintPrime) + (value >> 61);
  return value >= kFingerprintPrime ? value - kFingerprintPrime : value;
}

// Both are below 2^61.
__device__ Word Multiply(Word a, Word b) { return Reduce(Fold(static_cast<Wide>(a) * b)); }

struct Hash {
  Word powers[8];  // of a
  Word k;
  Word k_block;
  Word k_grid;
  Word sum = 0;

  __device__ Hash(Word a, Word k, Word k_block, Word k_grid)
      : k(k), k_block(k_block), k_grid(k_grid) {
    powers[0] = 1;
    for (int i = 1; i < 8; ++i) powers[i] = Multiply(powers[i - 1], a);
  }

  __device__ void Add(const uint4& low, const uint4& high) {
    const unsigned words[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    Wide group = static_cast<Wide>(sum) * k_grid;  // below 2^122
#pragma unroll
    for (int i = 0; i < 8; ++i) group += static_cast<Wide>(words[i]) * powers[i];
    sum = Reduce(Fold(group));
  }

  // Adds up the block: sum over t of sum(t) k^t, times k^(threads * block).
  __device__ Word OfBlock(Word* shared) const {
    Word power = k;
    shared[threadIdx.x] = sum;
    for (unsigned step = 1; step < kFingerprintThreads; step *= 2) {
      __syncthreads();
      if (threadIdx.x % (2 * step) == 0) {
        shared[threadIdx.x] =
            Reduce(shared[threadIdx.x] + Multiply(power, shared[threadIdx.x + step]));
      }
      power = Multiply(power, power);
    }
    __syncthreads();
    Word result = shared[0];
    Word base = k_block;
    for (unsigned rest = blockIdx.x; rest > 0; rest >>= 1) {
      if ((rest & 1) != 0) result = Multiply(result, base);
      base = Multiply(base, base);
    }
    __syncthreads();
    return result;
  }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(kFingerprintThreads)
    reveza_fingerprint(const __grid_constant__ FingerprintPieces pieces, Word a0, Word k0,
                       Word k0_block, Word k0_grid, Word a1, Word k1, Word k1_block, Word k1_grid,
                       Word* out) {
  __shared__ Word shared[kFingerprintThreads];
  Hash first(a0, k0, k0_block, k0_grid);
  Hash second(a1, k1, k1_block, k1_grid);
  const auto* data = reinterpret_cast<const uint4*>(pieces.of[blockIdx.y].address);
  const Word groups = pieces.of[blockIdx.y].groups;
  const Word stride = static_cast<Word>(gridDim.x) * kFingerprintThreads;
  for (Word g = blockIdx.x * kFingerprintThreads + threadIdx.x; g < groups; g += stride) {
    const uint4 low = data[2 * g];
    const uint4 high = data[2 * g + 1];
    first.Add(low, high);
    second.Add(low, high);
  }
  const Word sum0 = first.OfBlock(shared);
  const Word sum1 = second.OfBlock(shared);
  if (threadIdx.x != 0) return;
  out += 2 * (blockIdx.y * gridDim.x + blockIdx.x);
  out[0] = sum0;
  out[1] = sum1;
}
