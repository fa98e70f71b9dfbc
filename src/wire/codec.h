// Writing and reading packets. Reading trusts nothing: a packet that is not exactly one known
// message, in this version, with every field in its bounds, is refused as a whole.
//
// This room is part of libreveza.so: libc and header-only C++ only. Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "wire/messages.h"

namespace reveza::wire {

enum class DecodeError : std::uint8_t {
  kNone = 0,
  kShort,         // shorter than a header
  kWrongMagic,    // not ours
  kWrongVersion,  // another version of the protocol
  kType,          // a type that nobody defined
  kSize,          // not the size of its type
  kField,         // a field out of its bounds: a GPU number, a byte count, an unterminated string
};

const char* ToText(DecodeError error);

// kNone when `packet` is one well-formed message; `*type` is then valid and View<T>() of the
// matching T may be used.
DecodeError Validate(const void* packet, std::size_t size, Type* type);

// Bytes on the wire of message T (kText: without its characters).
template <typename T>
inline constexpr std::size_t kPacketSize = sizeof(Header) + (std::is_empty_v<T> ? 0 : sizeof(T));

// A validated packet's body, copied out (packets are not aligned).
template <typename T>
T View(const void* packet) {
  T body{};
  if constexpr (!std::is_empty_v<T>) {
    std::memcpy(&body, static_cast<const char*>(packet) + sizeof(Header), sizeof(T));
  }
  return body;
}

// Writes header and body to `out` (at least kPacketSize<T> bytes); returns the size.
template <typename T>
std::size_t Encode(const T& body, void* out) {
  const Header header{kMagic, kVersion, T::kType};
  std::memcpy(out, &header, sizeof(header));
  if constexpr (!std::is_empty_v<T>) {
    std::memcpy(static_cast<char*>(out) + sizeof(header), &body, sizeof(T));
  }
  return kPacketSize<T>;
}

// Copies at most capacity - 1 characters of `text` and ends with NUL; what is longer is cut.
void CopyText(char* out, std::size_t capacity, const char* text);

}  // namespace reveza::wire
