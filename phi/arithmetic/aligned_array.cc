#include "phi/arithmetic/aligned_array.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace reveza::phi {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

void* AllocateZeros(std::size_t bytes) {
  const bool large = bytes >= kHugePage / 2;
  const std::size_t unit = large ? kHugePage : kCacheLine;
  const std::size_t rounded = (bytes / unit + 1) * unit;
  void* memory = std::aligned_alloc(unit, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  // Only a hint; without huge pages the result is the same but slower.
  if (large) madvise(memory, rounded, MADV_HUGEPAGE);
  std::memset(memory, 0, rounded);
  return memory;
}

}  // namespace reveza::phi
