// Rows of a batch, their random numbers by field, and access to their columns.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema_classic.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen::classic {

// The rows to fill a batch with, consecutive or listed, and their fraud flags. A view of the
// caller's data.
class BatchRows {
 public:
  // A row for each flag (0 or 1) in `frauds`: consecutive ones from `first`, or those listed.
  BatchRows(uint64_t first, std::span<const uint8_t> frauds) : first_(first), frauds_(frauds) {}
  BatchRows(std::span<const uint64_t> rows, std::span<const uint8_t> frauds)
      : listed_(rows), frauds_(frauds) {
    assert(rows.size() == frauds.size());
  }

  std::size_t size() const { return frauds_.size(); }
  uint64_t operator[](std::size_t index) const {
    return listed_.empty() ? first_ + index : listed_[index];
  }
  bool IsFraud(std::size_t index) const { return frauds_[index] != 0; }

  // Draw a field's random bits for all rows, or for those at `places`.
  void Draw(const FieldRandom& random, std::span<uint64_t> bits) const {
    if (listed_.empty()) {
      random.Fill(first_, bits.first(size()));
    } else {
      random.FillAt(listed_, bits);
    }
  }
  void DrawAt(const FieldRandom& random, std::span<const uint16_t> places, std::span<uint64_t> bits,
              uint16_t draw = 0) const {
    if (listed_.empty()) {
      random.FillAt(first_, places, bits, draw);
      return;
    }
    std::array<uint64_t, Batch::kMaxRows> rows;
    for (std::size_t i = 0; i < places.size(); ++i) rows[i] = listed_[places[i]];
    random.FillAt(std::span(rows).first(places.size()), bits, draw);
  }

 private:
  uint64_t first_ = 0;
  std::span<const uint64_t> listed_;
  std::span<const uint8_t> frauds_;
};

// Moves the low 32 bits up. For small limits UpperProduct and WeightedChoice depend on the high
// bits only, so both halves can be used.
constexpr uint64_t LowerHalf(uint64_t bits) { return bits << 32; }

// Returns a uniform number from 0 to 99.
constexpr uint64_t Percent(uint64_t bits) { return UpperProduct(bits, 100); }

// Returns a number below `limit` from the high bits and leaves the remaining entropy in `bits`.
constexpr uint64_t TakeBelow(uint64_t limit, uint64_t& bits) {
  const auto product = static_cast<unsigned __int128>(bits) * limit;
  bits = static_cast<uint64_t>(product);
  return static_cast<uint64_t>(product >> 64);
}

// The random bits of one field for all rows of a batch, or for those at some places.
class Drawn {
 public:
  Drawn(const FieldRandom& random, const BatchRows& rows) { rows.Draw(random, bits_); }
  Drawn(const FieldRandom& random, const BatchRows& rows, std::span<const uint16_t> places) {
    rows.DrawAt(random, places, bits_);
  }
  uint64_t operator[](std::size_t index) const { return bits_[index]; }

 private:
  std::array<uint64_t, Batch::kMaxRows> bits_;
};

// Identifies a table in the key of its random numbers; part of the output.
enum class TableKey : uint32_t { kCustomers = 1, kDevices, kTransactions, kDrivers, kRides };

// The random numbers of a table, by field: an enumerator of `Draw`, which ends with kEnd.
template <typename Draw>
class Fields {
 public:
  Fields(uint64_t seed, TableKey table) {
    for (uint32_t field = 0; field < static_cast<uint32_t>(Draw::kEnd); ++field) {
      fields_.emplace_back(seed, static_cast<uint32_t>(table), field);
    }
  }
  const FieldRandom& operator[](Draw draw) const { return fields_[static_cast<std::size_t>(draw)]; }

 private:
  std::vector<FieldRandom> fields_;
};

// The columns of a batch: of one, or of several as an array.
inline ColumnValues& Texts(Batch& batch, auto column) { return batch.column(column); }
inline int64_t* Numbers(Batch& batch, auto column) { return Texts(batch, column).numbers.data(); }
inline uint16_t* Codes(Batch& batch, auto column) { return Texts(batch, column).codes.data(); }
inline uint8_t* Flags(Batch& batch, auto column) { return Texts(batch, column).flags.data(); }
inline uint8_t* Present(Batch& batch, auto column) { return Texts(batch, column).present.data(); }
inline auto Texts(Batch& batch, auto... columns) { return std::tie(Texts(batch, columns)...); }
inline auto Numbers(Batch& batch, auto... columns) {
  return std::array{Numbers(batch, columns)...};
}
inline auto Codes(Batch& batch, auto... columns) { return std::array{Codes(batch, columns)...}; }
inline auto Flags(Batch& batch, auto... columns) { return std::array{Flags(batch, columns)...}; }
inline auto Present(Batch& batch, auto... columns) {
  return std::array{Present(batch, columns)...};
}

}  // namespace reveza::fraudgen::classic
