#include "reveza/gpu/nvml/gpu_settings.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace reveza::nvml {
namespace gpu_settings_test {

TEST(GpuSettings, ReadsSupportedSettings) {
  const auto all = ReadGpuSettings(REVEZA_TESTING_NVML);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->driver, "535.104.05");
  EXPECT_EQ(all->cuda, 12020u);
  ASSERT_EQ(all->gpus.size(), 2u);
  const GpuSettings& first = all->gpus[0];
  EXPECT_EQ(first.name, "Test GPU");
  EXPECT_EQ(first.compute_mode, ComputeMode::kExclusiveProcess);
  EXPECT_EQ(first.persistence_mode, false);
  EXPECT_EQ(first.mig_enabled, false);
  EXPECT_EQ(first.link_generation, 1u);
  EXPECT_EQ(first.max_link_generation, 4u);
  EXPECT_EQ(first.link_lanes, 4u);
  EXPECT_EQ(first.max_link_lanes, 16u);
  const GpuSettings& second = all->gpus[1];
  EXPECT_EQ(second.compute_mode, std::nullopt);
  EXPECT_EQ(second.persistence_mode, std::nullopt);
  EXPECT_EQ(second.mig_enabled, std::nullopt);
  EXPECT_EQ(second.link_lanes, std::nullopt);
  EXPECT_EQ(all->no_peer_access, (std::vector<std::pair<std::size_t, std::size_t>>{{0, 1}}));
}

TEST(GpuSettings, UnresponsiveGpuKeepsItsIndex) {
  setenv("REVEZA_TESTING_NVML_LOST", "1", 1);
  const auto all = ReadGpuSettings(REVEZA_TESTING_NVML);
  unsetenv("REVEZA_TESTING_NVML_LOST");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->unresponsive, std::vector<unsigned>{0});
  ASSERT_EQ(all->gpus.size(), 1u);
  EXPECT_EQ(all->gpus[0].index, 1u);
  EXPECT_TRUE(all->no_peer_access.empty());
}

TEST(GpuSettings, UnavailableIfEnumerationFails) {
  setenv("REVEZA_TESTING_NVML_BROKEN", "1", 1);
  const auto none = ReadGpuSettings(REVEZA_TESTING_NVML);
  unsetenv("REVEZA_TESTING_NVML_BROKEN");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Error::Code::kUnavailable);
}

TEST(GpuSettings, UnavailableWithoutNvml) {
  const auto none = ReadGpuSettings("libno-such-library.so.1");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Error::Code::kUnavailable);
  const auto other = ReadGpuSettings("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("libm.so.6"), std::string::npos);
}

}  // namespace gpu_settings_test
}  // namespace reveza::nvml
