// Which rows a batch is filled with, and which of them are frauds: rows that follow each other, or
// any rows. A value that points at the caller's; safe from any thread.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datagen/batch.h"
#include "datagen/random.h"

namespace reveza::datagen::classic {

class BatchRows {
 public:
  // A row for each of `frauds`, which are 0 or 1: from `first` on, or those listed.
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

  // The bits of a field for all rows, or for those at some places.
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

}  // namespace reveza::datagen::classic
