// What the kernel of fingerprints and its caller agree on. Read by nvcc, too.
#pragma once

namespace reveza::swap {

inline constexpr unsigned long long kFingerprintPrime = (1ull << 61) - 1;
inline constexpr unsigned kFingerprintBlocks = 256;
inline constexpr unsigned kFingerprintThreads = 256;
inline constexpr unsigned kFingerprintGroup = 32;      // bytes: eight words
inline constexpr unsigned kFingerprintMaxPieces = 32;  // in one launch
inline constexpr char kFingerprintKernel[] = "reveza_fingerprint";

// The pieces of a launch: the y index of a block is that of its piece.
struct FingerprintPieces {
  struct {
    unsigned long long address;
    unsigned long long groups;
  } of[kFingerprintMaxPieces];
};

}  // namespace reveza::swap
