#include "base/log.h"

#include <gtest/gtest.h>

namespace reveza {
namespace {

TEST(Logger, SaysWhatItsLevelAllows) {
  const auto logger = MakeLogger("warning");
  ASSERT_TRUE(logger);
  testing::internal::CaptureStderr();
  (*logger)->info("quiet");
  (*logger)->warn("loud {}", 7);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("quiet"), std::string::npos);
  EXPECT_NE(said.find("warning loud 7\n"), std::string::npos);
}

TEST(Logger, KnowsItsLevels) {
  for (const char* level : {"debug", "info", "warning", "error", "off"}) {
    EXPECT_TRUE(MakeLogger(level)) << level;
  }
  const auto wrong = MakeLogger("loud");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("warning"), std::string::npos);
}

TEST(Logger, SilentSaysNothing) {
  testing::internal::CaptureStderr();
  MakeSilentLogger()->error("nobody hears");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace reveza
