#include "reveza/gpu/swap/fingerprints.h"

#include <sys/random.h>

namespace reveza::swap {
namespace {

constexpr std::uint64_t kPrime = kFingerprintPrime;

std::uint64_t Multiply(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b % kPrime);
}

std::uint64_t Power(std::uint64_t base, unsigned exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = Multiply(result, base);
    base = Multiply(base, base);
  }
  return result;
}

// Draws uniformly below the prime. Returns false if the system has no random numbers.
bool Draw(std::uint64_t* key) {
  do {
    if (getrandom(key, sizeof(*key), GRND_NONBLOCK) != sizeof(*key)) return false;
    *key &= kPrime;
  } while (*key == kPrime);
  return true;
}

}  // namespace

Fingerprinter::Fingerprinter(const Driver& driver) : driver_(driver) {
  has_keys_ = true;
  for (Key& key : keys_) {
    has_keys_ = has_keys_ && Draw(&key.a) && Draw(&key.k);
    key.k_block = Power(key.k, kFingerprintThreads);
    key.k_grid = Power(key.k, kFingerprintThreads * kFingerprintBlocks);
  }
}

bool Fingerprinter::Load(FingerprintKernel& kernel) const {
  if (kernel.function != nullptr) return true;
  if (kernel.unavailable || !has_keys_ || driver_.fingerprint_image == nullptr) return false;
  constexpr std::size_t kBytes = kMaxPieces * kFingerprintBlocks * sizeof(Fingerprint);
  CUmodule module = nullptr;
  void* sums = nullptr;
  CUresult result = CUDA_SUCCESS;
  if (kernel.stream == nullptr) {
    result = driver_.StreamCreate(&kernel.stream, CU_STREAM_NON_BLOCKING);
  }
  if (result == CUDA_SUCCESS && kernel.partial_sums == nullptr) {
    result = driver_.HostAllocate(&sums, kBytes, CU_MEMHOSTALLOC_DEVICEMAP);
    if (result == CUDA_SUCCESS) {
      result = driver_.HostGetDevicePointer(&kernel.partial_sums_on_gpu, sums, 0);
      kernel.partial_sums = static_cast<std::uint64_t*>(sums);
    }
  }
  if (result == CUDA_SUCCESS) result = driver_.ModuleLoad(&module, driver_.fingerprint_image);
  if (result == CUDA_SUCCESS) {
    result = driver_.ModuleGetFunction(&kernel.function, module, kFingerprintKernel);
  }
  // There may be memory at the next handover.
  kernel.unavailable = result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY;
  return result == CUDA_SUCCESS;
}

CUresult Fingerprinter::Launch(const FingerprintKernel& kernel, const Range* ranges,
                               std::size_t count) const {
  FingerprintPieces pieces{};
  for (std::size_t i = 0; i < count; ++i) {
    pieces.of[i] = {ranges[i].address, ranges[i].size / kFingerprintGroup};
  }
  Key first = keys_[0];
  Key second = keys_[1];
  CUdeviceptr out = kernel.partial_sums_on_gpu;
  void* parameters[] = {&pieces,   &first.a,  &first.k,        &first.k_block, &first.k_grid,
                        &second.a, &second.k, &second.k_block, &second.k_grid, &out};
  return driver_.Launch(kernel.function, kFingerprintBlocks, static_cast<unsigned>(count), 1,
                        kFingerprintThreads, 1, 1, 0, kernel.stream, parameters, nullptr);
}

bool Fingerprinter::Compute(FingerprintKernel& kernel, const Range* ranges, std::size_t count,
                            Fingerprint* fingerprints) const {
  if (!Load(kernel)) return false;
  const bool launched = Launch(kernel, ranges, count) == CUDA_SUCCESS;
  bool known = driver_.StreamSynchronize(kernel.stream) == CUDA_SUCCESS;
  // The kernel may still be reading what the caller is about to unmap.
  if (launched && !known) driver_.StreamSynchronize(kernel.stream);
  known = known && launched;
  if (!known) {
    kernel.unavailable = true;
    kernel.function = nullptr;
    return false;
  }
  const std::uint64_t* sums = kernel.partial_sums;
  for (std::size_t i = 0; i < count; ++i) {
    fingerprints[i] = {};
    for (unsigned block = 0; block < kFingerprintBlocks; ++block) {
      for (std::uint64_t& hash : fingerprints[i].hashes) hash = (hash + *sums++) % kPrime;
    }
  }
  return true;
}

}  // namespace reveza::swap
