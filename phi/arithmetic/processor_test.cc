#include "phi/arithmetic/processor.h"

#include <gtest/gtest.h>

namespace reveza::phi {
namespace processor_test {

TEST(Processor, ParsesItsOwnNames) {
  for (const auto instructions :
       {Instructions::kPlain, Instructions::kAvx2, Instructions::kAvx512}) {
    EXPECT_EQ(ParseInstructions(NameOf(instructions)), instructions);
  }
  EXPECT_EQ(ParseInstructions("sse"), std::nullopt);
}

}  // namespace processor_test
}  // namespace reveza::phi
