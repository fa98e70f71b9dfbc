// Huge pages: large memory that is written once costs a page fault per 2 MiB instead of per 4 KiB.
// Thread-safe.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reveza::phi {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Asks for huge pages for the part of this memory that consists of whole ones, before it is
// written. Only a hint: without huge pages the result is the same but slower.
inline void PreferHugePages(void* memory, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t end = (begin + bytes) / kHugePage * kHugePage;
  if (first >= end) return;
  madvise(static_cast<std::byte*>(memory) + (first - begin), end - first, MADV_HUGEPAGE);
}

// Reserves memory for this many elements, on huge pages if it is new.
template <class T>
void ReserveOnHugePages(std::vector<T>& values, std::size_t count) {
  if (count <= values.capacity()) return;
  values.reserve(count);
  PreferHugePages(values.data(), count * sizeof(T));
}

}  // namespace reveza::phi
