#include "reveza/gpu/nvml/gpu_monitor.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace reveza::nvml {
namespace gpu_monitor_test {

TEST(Uuid, RoundTripsNvmlFormat) {
  const std::string text = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
  const auto uuid = ParseUuid(text);
  ASSERT_TRUE(uuid);
  EXPECT_EQ((*uuid)[15], 15);
  EXPECT_EQ(FormatUuid(*uuid), text);
  for (const char* wrong : {"", "GPU", "GPU-", "GPU-0001", "GPU-0001020304050607080x0a0b0c0d0e0f",
                            "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f00"}) {
    EXPECT_FALSE(ParseUuid(wrong)) << wrong;
  }
}

TEST(Nvml, ReadsMemoryAndProcesses) {
  auto nvml = LoadNvml(REVEZA_TESTING_NVML);
  ASSERT_TRUE(nvml) << nvml.error().message;
  const auto read = (*nvml)->Read();
  ASSERT_TRUE(read);
  const auto& readings = *read;
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[0].name, "Test GPU");
  EXPECT_EQ(readings[0].total, 1000u);
  EXPECT_EQ(readings[0].used, 300u);
  ASSERT_TRUE(readings[0].processes);
  ASSERT_EQ(readings[0].processes->size(), 70u);
  EXPECT_EQ(readings[0].processes->at(0).used, std::nullopt) << "not available is not 0";
  EXPECT_EQ(readings[0].processes->at(69).used, 69u);
  EXPECT_EQ(readings[0].processes->at(69).pid, 169);
}

TEST(Nvml, UnsupportedValuesAreUnset) {
  auto nvml = LoadNvml(REVEZA_TESTING_NVML);
  ASSERT_TRUE(nvml);
  const auto read = (*nvml)->Read();
  ASSERT_TRUE(read);
  const auto& readings = *read;
  ASSERT_EQ(readings.size(), 2u);
  EXPECT_EQ(readings[1].total, std::nullopt);
  EXPECT_EQ(readings[1].used, std::nullopt);
  EXPECT_EQ(readings[1].processes, std::nullopt);
}

TEST(Nvml, LostGpuKeepsItsIndex) {
  auto nvml = LoadNvml(REVEZA_TESTING_NVML);
  ASSERT_TRUE(nvml);
  setenv("REVEZA_TESTING_NVML_LOST", "1", 1);
  const auto readings = (*nvml)->Read();
  unsetenv("REVEZA_TESTING_NVML_LOST");
  ASSERT_TRUE(readings);
  ASSERT_EQ(readings->size(), 2u);
  EXPECT_EQ(readings->at(0).uuid, Uuid{});
  EXPECT_EQ(readings->at(0).total, std::nullopt);
  EXPECT_EQ(readings->at(1).name, "Test GPU");
}

TEST(Nvml, FailedEnumerationIsNotAnEmptyList) {
  auto nvml = LoadNvml(REVEZA_TESTING_NVML);
  ASSERT_TRUE(nvml);
  setenv("REVEZA_TESTING_NVML_BROKEN", "1", 1);
  EXPECT_FALSE((*nvml)->Read());
  unsetenv("REVEZA_TESTING_NVML_BROKEN");
  EXPECT_TRUE((*nvml)->Read());
}

TEST(Nvml, UnavailableWithoutLibrary) {
  const auto none = LoadNvml("libno-such-library.so.1");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Error::Code::kUnavailable);
  const auto other = LoadNvml("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("libm.so.6"), std::string::npos);
}

}  // namespace gpu_monitor_test
}  // namespace reveza::nvml
