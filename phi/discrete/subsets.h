// Sets of nodes as bit masks, and states of such sets as integers.
//
// In the state of a set S of nodes, bit r is the state of the r-th lowest node of S, so that the
// first node varies fastest ("little-endian", like the rows of PyPhi's matrices).
// Thread-safe: pure functions and an immutable table.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace reveza::phi {

// Bit i is node i.
using Nodes = std::uint32_t;

inline int CountOf(Nodes nodes) { return std::popcount(nodes); }
inline std::size_t StatesOf(Nodes nodes) { return std::size_t{1} << CountOf(nodes); }
inline Nodes AllNodes(int count) { return (Nodes{1} << count) - 1; }
inline bool IsWithin(Nodes part, Nodes whole) { return (part & ~whole) == 0; }

// Whether `a` precedes `b` in lexicographic order of tuples of equal size: {0,1}, {0,2}, {1,2}.
inline bool IsListedBefore(Nodes a, Nodes b) {
  const Nodes differ = a ^ b;
  return (a & differ & (~differ + 1)) != 0;
}

// Returns the bits of a word that a mask selects, next to each other (like PEXT).
inline Nodes GatherBits(Nodes word, Nodes mask) {
  Nodes gathered = 0;
  for (int place = 0; mask != 0; mask &= mask - 1) {
    gathered |= (word >> std::countr_zero(mask) & 1) << place++;
  }
  return gathered;
}

// Returns the word whose GatherBits() with this mask is `gathered`, with zeros elsewhere (like
// PDEP).
inline Nodes ScatterBits(Nodes gathered, Nodes mask) {
  Nodes word = 0;
  for (; mask != 0; mask &= mask - 1, gathered >>= 1) {
    if ((gathered & 1) != 0) word |= mask & (~mask + 1);
  }
  return word;
}

// A table of GatherBits() for words of up to `bits` bits.
class Gather {
 public:
  explicit Gather(int bits) : bits_(bits), table_(std::size_t{1} << (2 * bits)) {
    const Nodes count = Nodes{1} << bits;
    for (Nodes mask = 0; mask < count; ++mask) {
      for (Nodes word = 0; word < count; ++word) {
        table_[(mask << bits) | word] = static_cast<std::uint16_t>(GatherBits(word, mask));
      }
    }
  }

  Nodes operator()(Nodes word, Nodes mask) const { return table_[(mask << bits_) | word]; }
  // Returns the results for all words with this mask: row[word].
  const std::uint16_t* Row(Nodes mask) const { return &table_[mask << bits_]; }

 private:
  int bits_;
  std::vector<std::uint16_t> table_;
};

}  // namespace reveza::phi
