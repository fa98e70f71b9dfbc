// The encodings of values in pages of Parquet files: each function appends values that are present.
// Reentrant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fraudgen/output/columnar/page_bytes.h"

namespace reveza::fraudgen {

// Appends runs of equal values and of packed bits (RLE), each value of `width` bits, 1 to 32.
void AppendRuns(std::span<const uint8_t> values, int width, PageBytes& to);
void AppendRuns(std::span<const uint16_t> values, int width, PageBytes& to);
void AppendRuns(std::span<const uint32_t> values, int width, PageBytes& to);

// Appends bytes of 0 or 1 as bits, the first in the lowest (PLAIN booleans).
void AppendBits(std::span<const uint8_t> values, PageBytes& to);

// Appends differences in as few bits as blocks of them need (DELTA_BINARY_PACKED).
void AppendDeltas(std::span<const int64_t> values, PageBytes& to);

// Appends the first byte of all `count` values of eight bytes, then the next (BYTE_STREAM_SPLIT).
void AppendSplit(const uint8_t* values, std::size_t count, PageBytes& to);

}  // namespace reveza::fraudgen
