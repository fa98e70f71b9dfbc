#include "datagen/classic/fraud_marks.h"

namespace reveza::datagen::classic {

// Marks the fewer of frauds and honest rows, which are the first and the last of the order.
FraudMarks::FraudMarks(uint64_t key, const Block& block) {
  if (block.rows == 0) return;
  const bool mark_frauds = block.frauds <= block.rows / 2;
  bits_.assign((block.rows + 63) / 64, mark_frauds ? 0 : ~uint64_t{0});
  const FraudRows rows(key, block);
  const uint64_t first = mark_frauds ? 0 : block.frauds;
  const uint64_t end = mark_frauds ? block.frauds : block.rows;
  for (uint64_t place = first; place < end; ++place) {
    const uint64_t offset = rows.OffsetOf(place);
    bits_[offset / 64] ^= uint64_t{1} << (offset % 64);
  }
}

}  // namespace reveza::datagen::classic
