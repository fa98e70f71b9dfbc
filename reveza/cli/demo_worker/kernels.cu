// Kernels for tests. Every loop strides over the grid, so that any launch shape gives the same
// results; fakecuda/kernels.cc has the same ones as host functions.
#include <cstddef>
#include <cstdint>

namespace {

__device__ std::size_t First() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::size_t Stride() { return std::size_t{gridDim.x} * blockDim.x; }

// The finaliser of splitmix64.
__device__ unsigned long long Mix64(unsigned long long value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

}  // namespace

extern "C" {

__global__ void reveza_fill(unsigned* p, std::size_t n, unsigned value) {
  for (std::size_t i = First(); i < n; i += Stride()) p[i] = value;
}

__global__ void reveza_add(unsigned* p, std::size_t n, unsigned value) {
  for (std::size_t i = First(); i < n; i += Stride()) p[i] += value;
}

__global__ void reveza_step(unsigned* p, std::size_t n, unsigned seed) {
  for (std::size_t i = First(); i < n; i += Stride()) {
    p[i] = p[i] * 1664525u + 1013904223u + (seed ^ static_cast<unsigned>(i));
  }
}

__global__ void reveza_verify(const unsigned* p, std::size_t n, unsigned value,
                              unsigned long long* mismatches) {
  unsigned long long count = 0;
  for (std::size_t i = First(); i < n; i += Stride()) count += p[i] != value ? 1 : 0;
  if (count != 0) atomicAdd(mismatches, count);
}

__global__ void reveza_hash(const unsigned* p, std::size_t n, unsigned long long* out) {
  unsigned long long sum = 0;
  for (std::size_t i = First(); i < n; i += Stride()) {
    sum += Mix64((static_cast<unsigned long long>(i) << 32) | p[i]);
  }
  atomicAdd(out, sum);
}

__global__ void reveza_spin(unsigned long long nanoseconds) {
  unsigned long long begin = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

__global__ void reveza_write_until(unsigned* p, std::size_t n, const volatile unsigned* flag) {
  while (*flag == 0) {
    for (std::size_t i = First(); i < n; i += Stride()) p[i]++;
  }
}

__global__ void reveza_copy(unsigned* to, const unsigned* from, std::size_t n) {
  for (std::size_t i = First(); i < n; i += Stride()) to[i] = from[i];
}

}  // extern "C"
