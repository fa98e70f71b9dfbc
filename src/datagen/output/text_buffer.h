// Bytes that are being written, with room kept ahead so that writing needs no check, and memory
// that is not cleared first. Not safe from several threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace reveza::datagen {

class TextBuffer {
 public:
  std::string_view view() const { return {bytes_.get(), size_}; }
  std::size_t size() const { return size_; }
  void Clear() { size_ = 0; }

  // Where to write next; up to `room` bytes may be written from there, and then told by SetEnd.
  char* Reserve(std::size_t room) {
    if (capacity_ - size_ < room) Grow(room);
    return bytes_.get() + size_;
  }
  void SetEnd(const char* end) { size_ = static_cast<std::size_t>(end - bytes_.get()); }

  void Append(std::string_view text) {
    if (text.empty()) return;
    // One call rather than a loop over bytes, which is what std::ranges::copy becomes.
    std::memcpy(Reserve(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  // The byte at `index`, which is below size().
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

}  // namespace reveza::datagen
