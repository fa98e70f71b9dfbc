// Zero-initialised arrays aligned for SIMD and, if large, backed by huge pages. Move-only.
// Thread-compatible: concurrent reads are safe.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

namespace reveza::phi {

// Returns at least `bytes` zero bytes, for std::free(), on huge pages if large; never null. Throws
// std::bad_alloc when memory is exhausted. Before large allocations, callers check
// common/platform/machine.h.
void* AllocateZeros(std::size_t bytes);

template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t size)
      : data_(static_cast<T*>(AllocateZeros(size * sizeof(T)))), size_(size) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }
  std::span<T> all() { return {data_.get(), size_}; }
  std::span<const T> all() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace reveza::phi
