// Numbers at addresses that vectors and huge pages like. A move-only owner; all bytes begin as 0.
// Thread-safety: as of an array.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace reveza::phi {

// `bytes` of zeros, on huge pages where they are many; never null. Ends the program where there is
// no memory, as new does: who takes much asks first (platform/host_memory.h).
void* AllocateZeros(std::size_t bytes);
void FreeZeros(void* memory);

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
    void operator()(T* memory) const { FreeZeros(memory); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
};

}  // namespace reveza::phi
