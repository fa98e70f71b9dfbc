// One result type for what can fail. Needs nothing but the C++ headers, so every room may use it;
// libreveza.so, which has no C++ runtime, uses its own status codes (swap/status.h) instead.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace reveza {

// What went wrong, for the program (code) and for the person (message).
// `message` says what was wrong, where, and what would be right, without a final full stop.
struct Error {
  enum class Code {
    kInvalidArgument,  // the caller's input is wrong
    kNotFound,         // a file, command or process that should exist does not
    kPermission,       // the operating system refused
    kUnavailable,      // nobody answers: no daemon, a closed socket
    kIncompatible,     // somebody answers in a version we do not speak
    kExhausted,        // no memory, no disk, no descriptors
    kInternal,         // a promise of our own code is broken
  };
  Code code = Code::kInternal;
  std::string message;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

inline std::unexpected<Error> Fail(Error::Code code, std::string message) {
  return std::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace reveza
