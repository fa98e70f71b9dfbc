// Rows of one column in the memory layout of Arrow, made without its library. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fraudgen/output/table_writer.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen {

inline constexpr std::array<int64_t, 19> kPowersOfTen = [] {
  std::array<int64_t, 19> powers{};
  int64_t power = 1;
  for (int64_t& entry : powers) {
    entry = power;
    power *= power < std::numeric_limits<int64_t>::max() / 10 ? 10 : 1;
  }
  return powers;
}();

// Packs bytes of 0 or 1 into bits, the first in the lowest. Returns the number of zeros.
inline int64_t PackBits(std::vector<uint8_t>& bytes, std::size_t rows, std::vector<uint8_t>& bits) {
  bytes.resize((rows + 7) / 8 * 8);  // pads with zeros
  bits.resize(bytes.size() / 8);
  const auto ones = std::ranges::count(bytes, uint8_t{1});
  for (std::size_t i = 0; i < bits.size(); ++i) {
    uint64_t eight = 0;
    std::memcpy(&eight, bytes.data() + 8 * i, sizeof eight);
    // The highest byte of the product collects the eight bits without carries.
    bits[i] = static_cast<uint8_t>((eight * 0x0102'0408'1020'4080u) >> 56);
  }
  return static_cast<int64_t>(rows) - ones;
}

// Converts to the nearest double, as parsing 12.50 would: below 2^53 both operands are exact, and
// the quotient is rounded once.
void DivideNumbers(std::span<const int64_t> numbers, double units, double* to);

// The type that the values of a column have in memory.
enum class ColumnForm { kText, kCodes, kFlags, kWhole, kDecimal128, kFloat, kDays };

ColumnForm FormOf(const Column& column, Money money);

// Digits of a kDecimal128; up to this number, Parquet stores decimals in 64 bits.
inline constexpr int kDecimalDigits = 18;

// Returns what is known of a column beside its type, as key and value: its unit, or the zone of its
// times.
std::optional<std::pair<std::string_view, std::string_view>> NoteOf(const Column& column,
                                                                    Money money);

// The buffers of one column; its form determines which are used.
struct ColumnBuffers {
  std::vector<uint8_t> present;  // a byte per row, packed to bits by Finish()
  std::vector<uint8_t> present_bits;
  std::vector<uint8_t> flags;
  std::vector<uint8_t> flag_bits;
  std::vector<int16_t> codes;
  std::vector<int64_t> whole;  // also the halves of a 128-bit decimal
  std::vector<int32_t> days;
  std::vector<double> floats;
  std::vector<int32_t> offsets = {0};
  std::string bytes;

  // Calls with the vector of the values: of texts the offsets.
  template <typename Call>
  void Visit(ColumnForm form, const Call& call) {
    switch (form) {
      case ColumnForm::kText:
        return call(offsets);
      case ColumnForm::kCodes:
        return call(codes);
      case ColumnForm::kFlags:
        return call(flags);
      case ColumnForm::kWhole:
      case ColumnForm::kDecimal128:
        return call(whole);
      case ColumnForm::kFloat:
        return call(floats);
      case ColumnForm::kDays:
        return call(days);
    }
  }

  void Reserve(const Column& column, ColumnForm form, std::size_t rows);
  // Adds `count` rows from `first` on.
  void Append(const Column& column, ColumnForm form, const ColumnValues& values, std::size_t first,
              std::size_t count);
  // Packs bits and clears the values behind nulls, so that the buffers are those of Arrow. Returns
  // the number of nulls. Called once before Clear().
  int64_t Finish(const Column& column, ColumnForm form, std::size_t rows);
  void Clear();
};

}  // namespace reveza::fraudgen
