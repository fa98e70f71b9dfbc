#include "base/nearest.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

namespace reveza {
namespace {

TEST(Nearest, ProposesOnlyWhatIsNear) {
  const std::vector<std::string_view> names = {"status", "stop", "trace"};
  EXPECT_EQ(Nearest("staus", names), "status");
  EXPECT_EQ(Nearest("sotp", names), "stop");
  EXPECT_EQ(Nearest("elephant", names), std::nullopt);
}

}  // namespace
}  // namespace reveza
