#include "common/base/log.h"

#include <gtest/gtest.h>

namespace reveza {
namespace log_test {

TEST(Logger, FiltersByLevel) {
  const auto logger = MakeLogger("warning");
  ASSERT_TRUE(logger);
  testing::internal::CaptureStderr();
  (*logger)->info("quiet");
  (*logger)->warn("loud {}", 7);
  const std::string output = testing::internal::GetCapturedStderr();
  EXPECT_EQ(output.find("quiet"), std::string::npos);
  EXPECT_NE(output.find("warning loud 7\n"), std::string::npos);
}

TEST(Logger, RejectsUnknownLevels) {
  for (const char* level : {"debug", "info", "warning", "error", "off"}) {
    EXPECT_TRUE(MakeLogger(level)) << level;
  }
  const auto wrong = MakeLogger("loud");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("warning"), std::string::npos);
}

TEST(Logger, NullLoggerDiscardsMessages) {
  testing::internal::CaptureStderr();
  MakeNullLogger()->error("discarded");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace log_test
}  // namespace reveza
