#include "common/base/nearest.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

namespace reveza {
namespace nearest_test {

TEST(Nearest, ReturnsTheNearestNameIfAny) {
  const std::vector<std::string_view> names = {"status", "stop", "trace"};
  EXPECT_EQ(Nearest("staus", names), "status");
  EXPECT_EQ(Nearest("sotp", names), "stop");
  EXPECT_EQ(Nearest("elephant", names), std::nullopt);
}

TEST(DidYouMean, FormatsASuggestion) {
  const std::vector<std::string_view> names = {"status", "stop"};
  EXPECT_EQ(DidYouMean("staus", names), "; did you mean 'status'?");
  EXPECT_EQ(DidYouMean("elephant", names), "");
}

}  // namespace nearest_test
}  // namespace reveza
