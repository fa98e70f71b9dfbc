#include "reveza/gpu/nvml/gpu_activity.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace reveza::nvml {
namespace gpu_activity_test {

TEST(GpuActivity, UnavailableWithoutNvml) {
  const auto activity = LoadGpuActivity("libthere-is-none.so.1");
  ASSERT_FALSE(activity);
  EXPECT_EQ(activity.error().code, Error::Code::kUnavailable);
}

TEST(GpuActivity, SmActiveNeedsTwoSamplesAndIsIndependentOfUtilisation) {
  auto activity = LoadGpuActivity(REVEZA_TESTING_NVML);
  ASSERT_TRUE(activity) << activity.error().message;
  auto readings = (*activity)->Read();
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[0].sm_active, std::nullopt);
  EXPECT_EQ(readings[0].some_resident, 1.0);
  readings = (*activity)->Read();
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[0].sm_active, 0.125);
  EXPECT_EQ(readings[0].link_out, 3.0 * (1 << 20));
  EXPECT_EQ(readings[0].link_in, std::nullopt) << "the driver did not say";
  EXPECT_EQ(readings[0].some_resident, 1.0);
  EXPECT_EQ(readings[1].sm_active, std::nullopt) << "an older GPU";
  EXPECT_EQ(readings[1].some_resident, 1.0);
  EXPECT_EQ((*activity)->Read()[0].sm_active, 0.125) << "against the reading before";
}

TEST(GpuActivity, FreesItsSamples) {
  void* library = dlopen(REVEZA_TESTING_NVML, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto alive = reinterpret_cast<int (*)()>(dlsym(library, "reveza_testing_samples_alive"));
  ASSERT_NE(alive, nullptr);
  {
    auto activity = LoadGpuActivity(REVEZA_TESTING_NVML);
    ASSERT_TRUE(activity);
    for (int i = 0; i < 5; ++i) (*activity)->Read();
    EXPECT_EQ(alive(), 1);
  }
  EXPECT_EQ(alive(), 0);
  dlclose(library);
}

}  // namespace gpu_activity_test
}  // namespace reveza::nvml
