// Appends values to a buffer of fixed size; what does not fit makes it overflow. Header-only, for
// the recorder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace reveza::calls {

class Encoder {
 public:
  Encoder(unsigned char* buffer, std::size_t bytes) : begin_(buffer), end_(buffer + bytes) {}

  void Byte(unsigned char value) {
    if (at_ < static_cast<std::size_t>(end_ - begin_)) {
      begin_[at_++] = value;
    } else {
      overflown_ = true;
    }
  }
  // Seven bits a byte, lowest first; the highest bit says that more follow.
  void Number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) Byte(static_cast<unsigned char>(value | 0x80));
    Byte(static_cast<unsigned char>(value));
  }
  void Text(std::string_view text) {
    Number(text.size());
    for (const char c : text) Byte(static_cast<unsigned char>(c));
  }
  // The words that are not zero: for each eight words a byte of bits, then the numbers.
  void Words(const void* data, std::size_t bytes) {
    const auto* from = static_cast<const unsigned char*>(data);
    for (std::size_t first = 0; first < bytes; first += 64) {
      std::uint64_t words[8] = {};
      std::memcpy(words, from + first, bytes - first < 64 ? bytes - first : 64);
      unsigned mask = 0;
      for (unsigned i = 0; i < 8; ++i) mask |= words[i] != 0 ? 1u << i : 0u;
      Byte(static_cast<unsigned char>(mask));
      for (const std::uint64_t word : words) {
        if (word != 0) Number(word);
      }
    }
  }

  void Rewind(std::size_t size) {
    at_ = size;
    overflown_ = false;
  }
  std::size_t size() const { return at_; }
  bool overflown() const { return overflown_; }

 private:
  unsigned char* begin_;
  unsigned char* end_;
  std::size_t at_ = 0;
  bool overflown_ = false;
};

}  // namespace reveza::calls
