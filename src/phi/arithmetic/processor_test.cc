#include "phi/arithmetic/processor.h"

#include <gtest/gtest.h>

namespace reveza::phi {
namespace {

TEST(Processor, NamesAreReadBack) {
  for (const auto instructions :
       {Instructions::kPlain, Instructions::kAvx2, Instructions::kAvx512}) {
    EXPECT_EQ(InstructionsOf(NameOf(instructions)), instructions);
  }
  EXPECT_EQ(InstructionsOf("sse"), std::nullopt);
}

}  // namespace
}  // namespace reveza::phi
