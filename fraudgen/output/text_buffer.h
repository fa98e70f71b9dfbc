// A byte buffer with reserved space for unchecked writes and without initialisation. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace reveza::fraudgen {

class TextBuffer {
 public:
  std::string_view view() const { return {bytes_.get(), size_}; }
  std::size_t size() const { return size_; }
  void Clear() { size_ = 0; }

  // Returns the write position with space for `room` bytes; SetEnd() commits what was written.
  char* Reserve(std::size_t room) {
    if (capacity_ - size_ < room) Grow(room);
    return bytes_.get() + size_;
  }
  void SetEnd(const char* end) { size_ = static_cast<std::size_t>(end - bytes_.get()); }

  void Append(std::string_view text) {
    if (text.empty()) return;
    // std::ranges::copy compiles to a byte loop.
    std::memcpy(Reserve(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  // Returns the byte at `index`, which must be below size().
  char& At(std::size_t index) { return bytes_[index]; }

 private:
  void Grow(std::size_t room) {
    const std::size_t capacity = std::max(size_ + room, 2 * capacity_);
    auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ > 0) std::memcpy(bytes.get(), bytes_.get(), size_);
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace reveza::fraudgen
