// Where the bytes of one file come from: a file on disk, an object of a store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"

namespace reveza::datagen {

// Safe from several threads.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual uint64_t size() const = 0;
  // So many bytes at a time are worth asking for: as many cost hardly more than one.
  virtual std::size_t step() const = 0;
  // Fills `to` from `position` on; says how many bytes there were, fewer only at the end.
  virtual Result<std::size_t> ReadAt(uint64_t position, std::span<char> to) = 0;
};

}  // namespace reveza::datagen
