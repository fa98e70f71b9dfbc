#include "phi/arithmetic/philox.h"

#include <gtest/gtest.h>

#include <array>

namespace reveza::phi {
namespace philox_test {

struct Known {
  PhiloxBlock counter;
  PhiloxKey key;
  PhiloxBlock wanted;
};

// From Random123's tests/kat_vectors, philox4x32 with 10 rounds.
constexpr std::array kKnown = {
    Known{{{0, 0, 0, 0}}, {{0, 0}}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
    Known{{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
          {{0xffffffff, 0xffffffff}},
          {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
    Known{{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
          {{0xa4093822, 0x299f31d0}},
          {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
};

TEST(Philox, MatchesKnownAnswerVectors) {
  for (const Known& known : kKnown) {
    const PhiloxBlock made = Philox(known.counter, known.key);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(made.word[i], known.wanted.word[i]);
  }
}

}  // namespace philox_test
}  // namespace reveza::phi
