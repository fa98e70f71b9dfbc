#include "common/python/keywords.h"

#include <gtest/gtest.h>

namespace reveza::python {
namespace {

TEST(Keywords, OptionsBecomeArguments) {
  EXPECT_EQ(WithKeywords("--fraud-rate: '2' is not a share"), "fraud_rate: '2' is not a share");
  EXPECT_EQ(WithKeywords("--rows and --size exclude each other"),
            "rows and size exclude each other");
  EXPECT_EQ(WithKeywords("use --mip queyranne, or fewer --threads."),
            "use mip queyranne, or fewer threads.");
}

TEST(Keywords, OtherTextStays) {
  for (const char* text : {"", "-", "--", "a -- b", "---", "1 - 2 --3", "well-known"}) {
    EXPECT_EQ(WithKeywords(text), text);
  }
}

}  // namespace
}  // namespace reveza::python
