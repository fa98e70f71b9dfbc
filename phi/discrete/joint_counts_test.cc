#include "phi/discrete/joint_counts.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace reveza::phi {
namespace joint_counts_test {

// More rows than one block, and whole and partial words.
TEST(CountStatesTest, CountsRowByRowWithAnyInstructions) {
  std::mt19937_64 engine(7);
  for (const std::size_t rows : {1, 64, 100, 8192, 20'011}) {
    for (int count = 1; count <= kMaxPlanes; ++count) {
      std::vector<std::vector<std::uint64_t>> words(static_cast<std::size_t>(count));
      std::vector<BitPlane> planes;
      for (auto& each : words) {
        each.resize(rows / 64 + 5);
        for (std::uint64_t& word : each) word = engine();
        planes.push_back({each.data(), planes.size() * 23});
      }
      std::vector<std::uint32_t> expected(std::size_t{1} << count);
      for (std::size_t row = 0; row < rows; ++row) {
        std::size_t state = 0;
        for (std::size_t b = 0; b < planes.size(); ++b) {
          const std::size_t at = planes[b].first + row;
          state |= (planes[b].words[at / 64] >> at % 64 & 1U) << b;
        }
        ++expected[state];
      }
      for (const auto instructions :
           {Instructions::kPlain, Instructions::kAvx2, Instructions::kAvx512}) {
        if (instructions > SupportedInstructions()) continue;
        EXPECT_EQ(CountStates(planes, rows, instructions), expected) << rows << ' ' << count;
      }
    }
  }
}

}  // namespace joint_counts_test
}  // namespace reveza::phi
