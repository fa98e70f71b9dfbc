// Encoding, validation and decoding of packets. Input is untrusted: a packet that is not exactly
// one known message of its version, which this one speaks too, with every field in range, is
// rejected as a whole.
//
// Part of libreveza.so: libc and header-only C++ only. Pure functions, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "reveza/gpu/wire/messages.h"

namespace reveza::wire {

enum class DecodeError : std::uint8_t {
  kNone = 0,
  kShort,         // shorter than a header
  kWrongMagic,    // not a Reveza message
  kWrongVersion,  // another protocol version
  kType,          // unknown message type
  kSize,          // size does not match the type
  kField,         // field out of range: GPU index, byte count, enum, unterminated string
};

const char* ToText(DecodeError error);

// Returns kNone if `packet` is one well-formed message; only then is `*type` set, and View<T>() of
// the matching T may be used.
DecodeError Validate(const void* packet, std::size_t size, Type* type);
// Returns the protocol version of a packet that Validate() accepted or returned kWrongVersion for.
std::uint16_t VersionOf(const void* packet);

// Size of message T on the wire (kText: without its characters).
template <typename T>
inline constexpr std::size_t kPacketSize = sizeof(Header) + (std::is_empty_v<T> ? 0 : sizeof(T));

// Returns a copy of the body of a validated packet (packets are not aligned).
template <typename T>
T View(const void* packet) {
  T body{};
  if constexpr (!std::is_empty_v<T>) {
    std::memcpy(&body, static_cast<const char*>(packet) + sizeof(Header), sizeof(T));
  }
  return body;
}

// Calls `visit` with the body of a validated packet if it is one of the messages T. Returns whether
// it is.
template <typename... T, typename Visitor>
bool Dispatch(Type type, const void* packet, Visitor visit) {
  return ((type == T::kType && (visit(View<T>(packet)), true)) || ...);
}

// Returns whether a peer of that version knows message T.
template <typename T>
constexpr bool IsKnownTo(std::uint16_t version) {
  if constexpr (requires { T::kSince; }) {
    return T::kSince <= version;
  } else {
    return true;
  }
}

// Writes header and body to `out` (at least kPacketSize<T> bytes). Returns the size.
template <typename T>
std::size_t Encode(const T& body, void* out, std::uint16_t version = kVersion) {
  const Header header{kMagic, version, T::kType};
  std::memcpy(out, &header, sizeof(header));
  if constexpr (!std::is_empty_v<T>) {
    std::memcpy(static_cast<char*>(out) + sizeof(header), &body, sizeof(T));
  }
  return kPacketSize<T>;
}

// Copies at most capacity - 1 characters of `text` and NUL-terminates; longer text is truncated.
void CopyText(char* out, std::size_t capacity, const char* text);

}  // namespace reveza::wire
