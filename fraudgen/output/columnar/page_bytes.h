// Bytes that grow without being cleared, for the pages of Parquet files. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace reveza::fraudgen {

class PageBytes {
 public:
  std::size_t size() const { return size_; }
  const uint8_t* data() const { return bytes_.get(); }
  uint8_t* data() { return bytes_.get(); }
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes_.get()), size_}; }

  // Keeps the memory.
  void Clear() { size_ = 0; }
  // Returns where the next `bytes` bytes can be written, which Advance() then adds.
  uint8_t* Room(std::size_t bytes) {
    if (size_ + bytes > capacity_) Grow(size_ + bytes);
    return bytes_.get() + size_;
  }
  void Advance(std::size_t bytes) { size_ += bytes; }
  void Append(const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    std::memcpy(Room(bytes), from, bytes);
    size_ += bytes;
  }

  // The same in values of one type.
  template <typename T>
  T* RoomFor(std::size_t count) {
    return reinterpret_cast<T*>(Room(count * sizeof(T)));
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes_.get()), size_ / sizeof(T)};
  }

 private:
  void Grow(std::size_t bytes) {
    const std::size_t capacity = std::max(bytes, capacity_ + capacity_ / 2);
    auto grown = std::make_unique_for_overwrite<uint8_t[]>(capacity);
    if (size_ > 0) std::memcpy(grown.get(), bytes_.get(), size_);
    bytes_ = std::move(grown);
    capacity_ = capacity;
  }

  std::unique_ptr<uint8_t[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace reveza::fraudgen
