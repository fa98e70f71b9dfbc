// Sets of nodes as bits, and states of some of them as small numbers.
//
// A state of a set S of nodes is written compactly: bit r is the state of the r-th lowest node of
// S. So the first node varies fastest ("little-endian", as PyPhi has the rows of its matrices).
// Thread-safety: pure functions, and a table that is never changed.
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

// Whether `a` comes first where sets of one size are listed as tuples: {0,1}, {0,2}, {1,2}.
inline bool IsListedBefore(Nodes a, Nodes b) {
  const Nodes differ = a ^ b;
  return (a & differ & (~differ + 1)) != 0;
}

// Gathers the bits of a word that a mask selects, for words of up to `bits` bits.
class Gather {
 public:
  explicit Gather(int bits) : bits_(bits), table_(std::size_t{1} << (2 * bits)) {
    const Nodes count = Nodes{1} << bits;
    for (Nodes mask = 0; mask < count; ++mask) {
      for (Nodes word = 0; word < count; ++word) {
        Nodes gathered = 0;
        int place = 0;
        for (int bit = 0; bit < bits; ++bit) {
          if ((mask >> bit & 1) != 0) gathered |= (word >> bit & 1) << place++;
        }
        table_[(mask << bits) | word] = static_cast<std::uint16_t>(gathered);
      }
    }
  }

  Nodes operator()(Nodes word, Nodes mask) const { return table_[(mask << bits_) | word]; }
  // The same for all words: row[word].
  const std::uint16_t* Row(Nodes mask) const { return &table_[mask << bits_]; }

 private:
  int bits_;
  std::vector<std::uint16_t> table_;
};

}  // namespace reveza::phi
