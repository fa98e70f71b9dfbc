// Binary serialisation for records, checksums and the supervisor protocol, in native byte order:
// both ends are the same program on one machine. Structures are written field by field, in the
// order of their Fields(). Unpacker validates its input: after truncated or invalid data ok() is
// false and all further values are zero.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace reveza::jobs {

// Whether T is U or const U, for the Fields() of U.
template <typename T, typename U>
concept MaybeConst = std::is_same_v<std::remove_const_t<T>, U>;

template <typename T>
concept HasFields = requires(T& value) { Fields(value); };
template <typename T>
concept IsText = std::is_convertible_v<const T&, std::string_view>;
template <typename T>
concept IsOptional = requires(const T& value) { value.has_value(); };

class Packer {
 public:
  template <typename T>
  Packer& Add(const T& value) {
    if constexpr (IsText<T>) {
      const std::string_view text(value);
      Add(static_cast<std::uint32_t>(text.size()));
      bytes_.append(text);
    } else if constexpr (HasFields<const T>) {
      std::apply([this](const auto&... fields) { (this->Add(fields), ...); }, Fields(value));
    } else if constexpr (IsOptional<T>) {
      Add(value.has_value()).Add(value.value_or(typename T::value_type{}));
    } else if constexpr (std::has_unique_object_representations_v<T>) {
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    } else {
      Add(static_cast<std::uint32_t>(value.size()));
      for (const auto& item : value) Add(item);
    }
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
  T Take() {
    T value{};
    if constexpr (std::is_same_v<T, std::string>) {
      value = TakeBytes(Take<std::uint32_t>());
    } else if constexpr (HasFields<T>) {
      std::apply(
          [this](auto&... fields) {
            ((fields = this->template Take<std::decay_t<decltype(fields)>>()), ...);
          },
          Fields(value));
    } else if constexpr (IsOptional<T>) {
      const bool present = Take<bool>();
      const auto inner = Take<typename T::value_type>();
      if (present) value = inner;
    } else if constexpr (std::is_same_v<T, bool>) {
      value = Take<std::uint8_t>() != 0;
    } else if constexpr (std::has_unique_object_representations_v<T>) {
      const std::string_view bytes = TakeBytes(sizeof(value));
      if (ok_) std::memcpy(&value, bytes.data(), sizeof(value));
    } else {
      const auto count = Take<std::uint32_t>();
      for (std::uint32_t i = 0; i < count && ok_; ++i) {
        value.push_back(Take<typename T::value_type>());
      }
    }
    return value;
  }

  // No error so far.
  bool ok() const { return ok_; }
  // No error, and all input consumed.
  bool finished() const { return ok_ && bytes_.empty(); }

 private:
  std::string_view TakeBytes(std::size_t size) {
    ok_ = ok_ && size <= bytes_.size();
    const std::string_view taken = ok_ ? bytes_.substr(0, size) : std::string_view();
    bytes_ = ok_ ? bytes_.substr(size) : std::string_view();
    return taken;
  }

  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace reveza::jobs
