// Fingerprints of pieces, computed on the GPU: a piece that has that of its host copy need not be
// copied out again.
//
// A fingerprint is two keyed hashes over the field of integers modulo p = 2^61 - 1. For 32-bit
// words m and the secret keys a and k, both drawn uniformly for the process,
//
//     c(g) = sum over i < 8 of m(8 g + i) a^i,    hash = sum over g of c(g) k^e(g)    (mod p)
//
// with a distinct exponent e(g) < G for each of the G groups of eight words. Two different contents
// of the same size have one hash in common with probability at most (G + 6) / p: their groups
// differ in some g, where c(g) is equal for at most 7 of the p values of a, and otherwise the
// difference is a nonzero polynomial in k of degree below G. With two independent hashes and 64 MiB
// (G = 2^21) that is below 2^-79. docs/fingerprints.md has the argument in full. The fingerprint of
// zeros is zero.
//
// Whatever fails (no kernel for the GPU, no memory, a launch) means "unknown": the caller copies.
// Not thread-safe; part of the mover.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "common/base/bytes.h"
#include "reveza/gpu/swap/driver.h"
#include "reveza/gpu/swap/fingerprint_kernel.h"

namespace reveza::swap {

struct Fingerprint {
  std::uint64_t hashes[2] = {};
  bool IsOfZeros() const { return hashes[0] == 0 && hashes[1] == 0; }
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// The kernel in a context, and what it needs. Destroyed with the context by the driver.
struct FingerprintKernel {
  CUfunction function = nullptr;
  CUstream stream = nullptr;
  std::uint64_t* partial_sums = nullptr;  // host memory that the GPU writes
  CUdeviceptr partial_sums_on_gpu = 0;
  bool unavailable = false;  // in this context
};

class Fingerprinter {
 public:
  static constexpr std::size_t kMaxPieces = kFingerprintMaxPieces;  // in one call

  explicit Fingerprinter(const Driver& driver);

  struct Range {
    CUdeviceptr address = 0;
    Bytes size = 0;  // a multiple of 2 MiB
  };
  // Computes the fingerprints of up to kMaxPieces ranges, and waits for them. The kernel's context
  // is current. Returns false if they are unknown.
  bool Compute(FingerprintKernel& kernel, const Range* ranges, std::size_t count,
               Fingerprint* fingerprints) const;

 private:
  struct Key {
    std::uint64_t a = 0;
    std::uint64_t k = 0;
    std::uint64_t k_block = 0;  // to the power of the threads of a block
    std::uint64_t k_grid = 0;   // to the power of the threads of a launch
  };

  bool Load(FingerprintKernel& kernel) const;
  CUresult Launch(const FingerprintKernel& kernel, const Range* ranges, std::size_t count) const;

  const Driver& driver_;
  Key keys_[2];
  bool has_keys_ = false;
};

}  // namespace reveza::swap
