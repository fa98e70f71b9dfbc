// Which rows of a block are frauds, as one bit each: to ask for them one by one would cost more
// than the rest of a row.
#pragma once

#include <cstdint>
#include <vector>

#include "datagen/blocks.h"

namespace reveza::datagen::classic {

class FraudMarks {
 public:
  // `key` as for FraudRows. `block` may be without rows.
  FraudMarks(uint64_t key, const Block& block);

  // `offset` of the row in its block.
  bool IsFraud(uint64_t offset) const { return (bits_[offset / 64] >> (offset % 64) & 1) != 0; }

 private:
  std::vector<uint64_t> bits_;
};

}  // namespace reveza::datagen::classic
