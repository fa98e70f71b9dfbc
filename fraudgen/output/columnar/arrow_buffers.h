// Buffers of Arrow arrays made of vectors. Reentrant.
#pragma once

#include <arrow/buffer.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace reveza::fraudgen {

// Returns a buffer of the vector's memory, valid until the vector changes.
template <typename T>
std::shared_ptr<arrow::Buffer> WrapVector(const std::vector<T>& values) {
  return std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(values.data()),
                                         static_cast<int64_t>(values.size() * sizeof(T)));
}

}  // namespace reveza::fraudgen
