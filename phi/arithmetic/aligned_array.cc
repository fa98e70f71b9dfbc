#include "phi/arithmetic/aligned_array.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "phi/arithmetic/huge_pages.h"

namespace reveza::phi {
namespace {

constexpr std::size_t kCacheLine = 64;

}  // namespace

void* AllocateZeros(std::size_t bytes) {
  const bool large = bytes >= kHugePage / 2;
  const std::size_t unit = large ? kHugePage : kCacheLine;
  const std::size_t rounded = (bytes / unit + 1) * unit;
  void* memory = std::aligned_alloc(unit, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  if (large) PreferHugePages(memory, rounded);
  std::memset(memory, 0, rounded);
  return memory;
}

}  // namespace reveza::phi
