// What the kernel of fingerprints and its caller agree on. Read by nvcc, too.
#pragma once

namespace reveza::swap {

inline constexpr unsigned long long kFingerprintPrime = (1ull << 61) - 1;
inline constexpr unsigned kFingerprintBlocks = 256;
inline constexpr unsigned kFingerprintThreads = 256;
inline constexpr unsigned kFingerprintGroup = 32;  // bytes: eight words
inline constexpr char kFingerprintKernel[] = "reveza_fingerprint";

}  // namespace reveza::swap
