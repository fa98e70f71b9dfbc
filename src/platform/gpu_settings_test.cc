#include "platform/gpu_settings.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace reveza::platform {
namespace {

TEST(GpuSettings, AreReadWhereTheyAreThere) {
  const auto all = ReadGpuSettings(REVEZA_TESTING_NVML);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->driver, "535.104.05");
  EXPECT_EQ(all->cuda, 12020u);
  ASSERT_EQ(all->gpus.size(), 2u);
  const GpuSettings& first = all->gpus[0];
  EXPECT_EQ(first.name, "Test GPU");
  EXPECT_EQ(first.compute_mode, ComputeMode::kExclusiveProcess);
  EXPECT_EQ(first.persistent, false);
  EXPECT_EQ(first.divided, false);
  EXPECT_EQ(first.link_generation, 1u);
  EXPECT_EQ(first.best_link_generation, 4u);
  EXPECT_EQ(first.link_lanes, 4u);
  EXPECT_EQ(first.best_link_lanes, 16u);
  const GpuSettings& second = all->gpus[1];
  EXPECT_EQ(second.compute_mode, std::nullopt);
  EXPECT_EQ(second.persistent, std::nullopt);
  EXPECT_EQ(second.divided, std::nullopt);
  EXPECT_EQ(second.link_lanes, std::nullopt);
  EXPECT_EQ(all->strangers, (std::vector<std::pair<std::size_t, std::size_t>>{{0, 1}}));
}

TEST(GpuSettings, OneThatDoesNotAnswerKeepsItsNumber) {
  setenv("REVEZA_TESTING_NVML_LOST", "1", 1);
  const auto all = ReadGpuSettings(REVEZA_TESTING_NVML);
  unsetenv("REVEZA_TESTING_NVML_LOST");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->silent, std::vector<unsigned>{0});
  ASSERT_EQ(all->gpus.size(), 1u);
  EXPECT_EQ(all->gpus[0].index, 1u);
  EXPECT_TRUE(all->strangers.empty());
}

TEST(GpuSettings, AreUnavailableWhereTheyCannotBeCounted) {
  setenv("REVEZA_TESTING_NVML_BROKEN", "1", 1);
  const auto none = ReadGpuSettings(REVEZA_TESTING_NVML);
  unsetenv("REVEZA_TESTING_NVML_BROKEN");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Error::Code::kUnavailable);
}

TEST(GpuSettings, AreUnavailableWithoutNvml) {
  const auto none = ReadGpuSettings("libno-such-library.so.1");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Error::Code::kUnavailable);
  const auto other = ReadGpuSettings("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("not an NVML"), std::string::npos);
}

}  // namespace
}  // namespace reveza::platform
