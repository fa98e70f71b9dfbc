// Records the driver calls of this process. Thread-safe, also before constructors have run; a
// forked child records into a file of its own.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>

namespace reveza::calls {

// Returns the bits of a parameter as one word.
template <typename T>
std::uint64_t Word(const T& value) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}

// One call: constructed before it, ended after it.
class Recording {
 public:
  explicit Recording(unsigned call);
  // Records the call with its parameters and returns `result`.
  CUresult End(CUresult result, std::initializer_list<std::uint64_t> words) const;

 private:
  unsigned call_;
  std::uint64_t sequence_;
};

}  // namespace reveza::calls
