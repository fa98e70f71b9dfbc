// The result type of functions that can fail. libreveza.so, which has no C++ runtime, uses status
// codes of its own instead.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <expected>
#include <string>
#include <system_error>
#include <utility>

namespace reveza {

// `code` is for the program, `message` for the user: what was wrong, where, and what would be
// right, without a full stop at the end.
struct Error {
  enum class Code {
    kInvalidArgument,  // invalid input
    kNotFound,         // no such file, command or process
    kPermission,       // permission denied
    kUnavailable,      // a peer or resource is not available now
    kIncompatible,     // a peer or file has an incompatible version
    kExhausted,        // out of memory, disk space or file descriptors
    kInternal,         // unexpected failure
  };
  Code code = Code::kInternal;
  std::string message;
};

// A value, or an error that must not be ignored.
template <typename T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};
using Status = Result<void>;

inline std::unexpected<Error> Fail(Error::Code code, std::string message) {
  return std::unexpected<Error>(Error{code, std::move(message)});
}
inline std::unexpected<Error> InvalidArgument(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}
// The same with a message formatted as by fmt::format().
template <typename First, typename... Rest>
std::unexpected<Error> Fail(Error::Code code, fmt::format_string<First, Rest...> format,
                            First&& first, Rest&&... rest) {
  return Fail(code, fmt::format(format, std::forward<First>(first), std::forward<Rest>(rest)...));
}
template <typename First, typename... Rest>
std::unexpected<Error> InvalidArgument(fmt::format_string<First, Rest...> format, First&& first,
                                       Rest&&... rest) {
  return Fail(Error::Code::kInvalidArgument, format, std::forward<First>(first),
              std::forward<Rest>(rest)...);
}

// Evaluates an expression that returns a Result or Status; on error returns that error from the
// enclosing function.
#define RETURN_IF_ERROR(...)                                                              \
  do {                                                                                    \
    if (auto REVEZA_UNIQUE_NAME(status_) = (__VA_ARGS__); !REVEZA_UNIQUE_NAME(status_)) { \
      return std::unexpected(std::move(REVEZA_UNIQUE_NAME(status_)).error());             \
    }                                                                                     \
  } while (false)

// Like RETURN_IF_ERROR for a Result, the value of which initialises the declaration:
//   ASSIGN_OR_RETURN(const auto text, ReadFile(path));
#define ASSIGN_OR_RETURN(declaration, ...) \
  REVEZA_ASSIGN_OR_RETURN(REVEZA_UNIQUE_NAME(result_), declaration, __VA_ARGS__)

#define REVEZA_ASSIGN_OR_RETURN(result, declaration, ...)         \
  auto result = (__VA_ARGS__);                                    \
  if (!result) return std::unexpected(std::move(result).error()); \
  declaration = *std::move(result)

#define REVEZA_JOIN(first, second) first##second
#define REVEZA_JOIN_EXPANDED(first, second) REVEZA_JOIN(first, second)
#define REVEZA_UNIQUE_NAME(prefix) REVEZA_JOIN_EXPANDED(prefix, __LINE__)

inline Error::Code CodeOfSystemError(int error) {
  switch (error) {
    case ENOENT:
      return Error::Code::kNotFound;
    case ENOTDIR:
    case EISDIR:
      return Error::Code::kInvalidArgument;
    case EACCES:
    case EPERM:
    case EROFS:
      return Error::Code::kPermission;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return Error::Code::kExhausted;
    default:
      return Error::Code::kInternal;
  }
}

// Returns "WHAT: No such file or directory". The code is kNotFound, kInvalidArgument (a file
// instead of a folder or vice versa), kPermission, kExhausted (disk, memory, descriptors) or
// kInternal.
inline Error SystemError(const std::string& what, int error) {
  return {CodeOfSystemError(error), what + ": " + std::generic_category().message(error)};
}

}  // namespace reveza
