#include <gtest/gtest.h>

#include "reveza/jobs/decide/machine_reading.h"

namespace reveza::jobs {
namespace usable_gpus_test {

constexpr const char* kOne = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";
constexpr const char* kOther = "GPU-ffffffff-ffff-ffff-ffff-ffffffffffff";

nlohmann::json Status() {
  return {{"gpu_budget", nullptr},
          {"gpus",
           {{{"uuid", kOne}, {"total", 1000}, {"budget", 800}, {"credit", 300}, {"external", 50}},
            {{"uuid", kOther}, {"total", 500}, {"budget", 800}, {"credit", 900}},
            {{"uuid", "nonsense"}, {"budget", 1}, {"credit", 1}},
            {{"uuid", kOne}, {"budget", "x"}}}},
          {"clients",
           {{{"pid", 77},
             {"footprint", {{"resident", 1}, {"swapped", 20}, {"pinned", 300}, {"context", 4000}}}},
            {{"pid", 0}, {"footprint", {{"resident", 9}}}},
            "nonsense"}}};
}

TEST(GpuLedger, TotalIsBudgetAndUsedIsGranted) {
  const GpuLedger ledger = ParseGpuLedger(Status(), true);
  ASSERT_EQ(ledger.gpus.size(), 2u);
  EXPECT_EQ(nvml::FormatUuid(ledger.gpus[0].uuid), kOne);
  EXPECT_EQ(ledger.gpus[0].total, 800u);
  EXPECT_EQ(ledger.gpus[0].used, 350u);
  EXPECT_EQ(ledger.gpus[1].total, 500u) << "capped at the physical total";
  EXPECT_EQ(ledger.gpus[1].used, 500u);
  EXPECT_EQ(ledger.clients, (std::map<pid_t, Bytes>{{77, 4321}}));
  EXPECT_TRUE(ParseGpuLedger(Status(), false).clients.empty());
  EXPECT_TRUE(ParseGpuLedger("nonsense", true).gpus.empty());
}

TEST(GpuLedger, OverridesOnlyCoveredGpus) {
  const auto uuid = *nvml::ParseUuid(kOne);
  const std::vector<GpuMemory> seen = {{uuid, 1000, 100}, {nvml::Uuid{9}, 1000, 100}};
  GpuLedger ledger = ParseGpuLedger(Status(), true);
  auto known = ApplyLedger(seen, ledger);
  ASSERT_TRUE(known);
  ASSERT_EQ(known->size(), 3u);
  EXPECT_EQ((*known)[0].total, 800u);
  EXPECT_EQ((*known)[0].used, 350u);
  EXPECT_EQ((*known)[1].total, 1000u) << "not covered by the ledger";
  EXPECT_EQ((*known)[1].used, 100u);
  EXPECT_EQ(nvml::FormatUuid((*known)[2].uuid), kOther) << "unknown to NVML";
  ledger.budget = 600;
  known = ApplyLedger(seen, ledger);
  EXPECT_EQ((*known)[1].total, 600u) << "capped at the default budget";
  EXPECT_FALSE(ApplyLedger(std::nullopt, {}));
  EXPECT_EQ(ApplyLedger(std::nullopt, ledger)->size(), 2u);
}

// Three GPUs, two of which share a UUID prefix.
struct VisibleGpusTest : ::testing::Test {
  VisibleGpusTest() {
    for (const char* uuid :
         {"GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", "GPU-00ff0203-0405-0607-0809-0a0b0c0d0e0f",
          "GPU-ffffffff-ffff-ffff-ffff-ffffffffffff"}) {
      nvml::GpuReading gpu;
      gpu.uuid = *nvml::ParseUuid(uuid);
      gpu.name = "Card";
      gpus_.push_back(gpu);
    }
  }
  void Expect(const std::string& visible, const std::vector<int>& numbers,
              const std::string& order = "") const {
    const auto found = FindVisibleGpus({visible, order}, gpus_);
    ASSERT_TRUE(found.gpus) << visible << ": " << found.warning;
    EXPECT_EQ(found.warning, "");
    std::vector<nvml::Uuid> uuids;
    for (const int number : numbers) uuids.push_back(gpus_[number].uuid);
    EXPECT_EQ(*found.gpus, uuids) << visible;
  }
  void ExpectWarning(const std::string& visible, const std::string& why) const {
    const auto found = FindVisibleGpus({visible, ""}, gpus_);
    EXPECT_FALSE(found.gpus) << visible;
    EXPECT_NE(found.warning.find(why), std::string::npos) << found.warning;
  }

  std::vector<nvml::GpuReading> gpus_;
};

TEST_F(VisibleGpusTest, ResolvesIndexUuidAndPrefix) {
  Expect("2", {2});
  Expect("2,0", {2, 0});
  Expect(" 1 , 2", {1, 2});
  Expect("GPU-ffffffff-ffff-ffff-ffff-ffffffffffff", {2});
  Expect("GPU-f,GPU-00FF", {2, 1});
  Expect("GPU-000,2", {0, 2});
}

TEST_F(VisibleGpusTest, StopsAtInvalidEntry) {
  Expect("", {});
  Expect("-1", {});
  Expect("1,-1,2", {1});
  Expect("0,,2", {0});
}

TEST_F(VisibleGpusTest, UnresolvableNamesWarn) {
  ExpectWarning("MIG-1,0", "reports no GPU 'MIG-1'");
  ExpectWarning("0,MIG-GPU-ffffffff/1/0", "so all GPUs are considered");
  ExpectWarning("3", "reports no GPU '3'");
  ExpectWarning("GPU-00", "reports no GPU 'GPU-00'");
  ExpectWarning("GPU-", "reports no GPU");
  ExpectWarning("GPU-1234", "reports no GPU");
  ExpectWarning("12x", "reports no GPU");
  const auto none = FindVisibleGpus({"0", ""}, {});
  EXPECT_FALSE(none.gpus);
  EXPECT_EQ(none.warning, "") << "unreadable GPUs are reported elsewhere";
}

TEST_F(VisibleGpusTest, MixedModelsNeedPciBusOrder) {
  gpus_[1].name = "Faster card";
  ExpectWarning("0", "CUDA_DEVICE_ORDER=PCI_BUS_ID");
  Expect("0", {0}, "PCI_BUS_ID");
  Expect("GPU-f", {2});
}

}  // namespace usable_gpus_test
}  // namespace reveza::jobs
