// The driver, called by name: a recording says which entries a program used. Thread-safe.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <span>
#include <string>

namespace reveza::recorded_calls {

// Loads libcuda.so.1. Returns false, with a line on stderr, if there is none.
bool LoadDriver();

// Calls an entry whose parameters are words. Returns CUDA_ERROR_NOT_FOUND if the driver lacks it.
CUresult CallEntry(const std::string& entry, std::span<const std::uint64_t> words);

template <typename... Arguments>
CUresult CallDriver(const std::string& entry, Arguments... arguments) {
  const auto word = [](auto value) {
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return bits;
  };
  const std::uint64_t words[] = {word(arguments)..., 0};
  return CallEntry(entry, std::span(words, sizeof...(arguments)));
}

}  // namespace reveza::recorded_calls
