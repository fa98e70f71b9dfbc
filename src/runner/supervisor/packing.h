// Values into bytes and back, for the records of supervisors and for what a runner and its
// supervisors say to each other: same machine, same program, so in the machine's own byte order.
// Reading trusts nothing: what is cut or too long reads as not ok, and then as zeros.
//
// Part of the supervisor: libc and header-only C++ only. Thread-safety: none.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace reveza::runner {

class Packer {
 public:
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  Packer& Add(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Packer& Add(std::string_view text) {
    Add(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  Packer& Add(const std::vector<std::string>& texts) {
    Add(static_cast<std::uint32_t>(texts.size()));
    for (const auto& text : texts) Add(std::string_view(text));
    return *this;
  }

  const std::string& bytes() const { return bytes_; }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  T Take() {
    T value{};
    if (bytes_.size() < sizeof(value)) {
      Spoil();
    } else {
      std::memcpy(&value, bytes_.data(), sizeof(value));
      bytes_.remove_prefix(sizeof(value));
    }
    return value;
  }
  std::string TakeText() {
    const auto size = Take<std::uint32_t>();
    if (bytes_.size() < size) {
      Spoil();
      return {};
    }
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }
  std::vector<std::string> TakeTexts() {
    std::vector<std::string> texts;
    const auto count = Take<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && ok_; ++i) texts.push_back(TakeText());
    return texts;
  }

  // All was there so far.
  bool ok() const { return ok_; }
  // And nothing is left.
  bool whole() const { return ok_ && bytes_.empty(); }

 private:
  void Spoil() {
    ok_ = false;
    bytes_ = {};
  }

  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace reveza::runner
