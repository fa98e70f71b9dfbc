// What the Python modules share: arguments out of a dictionary, and our errors as Python's
// exceptions. Needs the interpreter's lock, except within WithoutLock().
//
// Only here and in the modules, exceptions cross our code: nanobind passes Python's on by them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "common/python/keywords.h"

namespace reveza::python {

// Raises an exception of this type.
[[noreturn]] inline void Raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw nanobind::python_error();
}

// Raises an error of ours as ValueError, FileNotFoundError, PermissionError, MemoryError or
// RuntimeError, with options of the command line named as arguments.
[[noreturn]] inline void Raise(const Error& error) {
  const std::string message = WithKeywords(error.message);
  switch (error.code) {
    case Error::Code::kInvalidArgument:
      Raise(PyExc_ValueError, message);
    case Error::Code::kNotFound:
      Raise(PyExc_FileNotFoundError, message);
    case Error::Code::kPermission:
      Raise(PyExc_PermissionError, message);
    case Error::Code::kExhausted:
      Raise(PyExc_MemoryError, message);
    case Error::Code::kUnavailable:
    case Error::Code::kIncompatible:
    case Error::Code::kInternal:
      break;
  }
  Raise(PyExc_RuntimeError, message);
}

// Returns the value, or raises the error.
template <typename T>
T ValueOf(Result<T> result) {
  if (!result) Raise(result.error());
  return *std::move(result);
}
inline void Check(const Status& status) {
  if (!status) Raise(status.error());
}

// Calls a function, which may not use Python, while other Python threads run.
template <typename Call>
auto WithoutLock(const Call& call) {
  const nanobind::gil_scoped_release released;
  return call();
}

// The arguments of a function by name. Missing ones are errors of the package, not of its user.
class Arguments {
 public:
  explicit Arguments(nanobind::dict given) : given_(std::move(given)) {}

  // Returns an argument; raises TypeError if it is of another type.
  template <typename T>
  T Get(const char* name) const {
    const nanobind::object value = given_[name];
    T found{};
    if (nanobind::try_cast<T>(value, found)) return found;
    const nanobind::str type(value.type().attr("__name__"));
    Raise(PyExc_TypeError, std::string(name) + " cannot be " + type.c_str());
  }

  // Returns an integer; raises ValueError if it is out of range.
  template <typename T>
  T Whole(const char* name, std::int64_t min, std::int64_t max) const {
    const auto value = Get<std::int64_t>(name);
    if (value >= min && value <= max) return static_cast<T>(value);
    Raise(PyExc_ValueError,
          fmt::format("{}: {} is out of range; use {} to {}", name, value, min, max));
  }

 private:
  nanobind::dict given_;
};

}  // namespace reveza::python
