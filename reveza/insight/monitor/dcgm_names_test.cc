#include "reveza/insight/monitor/dcgm_names.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "reveza/insight/monitor/testing_snapshot.h"

namespace reveza::monitor {
namespace dcgm_names_test {

// "name label=value ..." without the labels that all have -> value
std::map<std::string, double> Values(const Snapshot& snapshot) {
  std::map<std::string, double> values;
  for (const MetricSample& sample : DcgmSamples(snapshot, "node-1")) {
    std::string key = DcgmMetrics()[sample.metric].name;
    for (const auto& [label, value] : sample.labels) {
      if (label == "gpu" || label == "program") key += " " + label + "=" + value;
    }
    EXPECT_TRUE(values.emplace(key, sample.value).second) << key << " is a duplicate";
  }
  return values;
}

Snapshot OfTwoPrograms() {
  Snapshot snapshot = TestingSnapshot();
  snapshot.gpus[0].index = 0;
  snapshot.gpus[0].total = 80 * kGiB;
  snapshot.gpus[0].used = 70 * kGiB;
  snapshot.clients[0].gpus = {{0, 42 * kGiB, 0}};
  snapshot.clients[1].gpus = {{0, 18 * kGiB, 24 * kGiB}, {1, 5 * kGiB, 0}};
  return snapshot;
}

TEST(DcgmNames, MemoryIsThatOfProgramsAndTheRest) {
  const auto values = Values(OfTwoPrograms());
  EXPECT_EQ(values.at("DCGM_FI_DEV_FB_TOTAL gpu=0"), 80 * 1024);
  EXPECT_EQ(values.at("DCGM_FI_DEV_FB_FREE gpu=0"), 10 * 1024);
  EXPECT_EQ(values.at("DCGM_FI_DEV_FB_USED gpu=0 program=ana"), 42 * 1024);
  EXPECT_EQ(values.at("DCGM_FI_DEV_FB_USED gpu=0 program=bia"), 18 * 1024);
  EXPECT_EQ(values.at("DCGM_FI_DEV_FB_USED gpu=0 program="), 10 * 1024);
}

TEST(DcgmNames, HaveTheUnitsOfDcgmExporter) {
  const auto values = Values(OfTwoPrograms());
  EXPECT_EQ(values.at("DCGM_FI_DEV_GPU_UTIL gpu=0"), 100);
  EXPECT_EQ(values.at("DCGM_FI_PROF_SM_ACTIVE gpu=0"), 0.37);
  EXPECT_EQ(values.at("DCGM_FI_PROF_PCIE_TX_BYTES gpu=0"), 21.4e9);
  EXPECT_EQ(values.at("DCGM_FI_PROF_PCIE_RX_BYTES gpu=0"), 20.1e9);
}

TEST(DcgmNames, ThereIsNoRestBelowNothing) {
  Snapshot snapshot = OfTwoPrograms();
  snapshot.gpus[0].used = 50 * kGiB;  // read a moment before the programs
  EXPECT_EQ(Values(snapshot).at("DCGM_FI_DEV_FB_USED gpu=0 program="), 0);
}

TEST(DcgmNames, UnavailableValuesHaveNoSample) {
  Snapshot snapshot;
  snapshot.gpus.emplace_back().index = 0;
  EXPECT_TRUE(DcgmSamples(snapshot, "node-1").empty());
}

TEST(DcgmNames, HaveTheDeclaredLabels) {
  for (const MetricSample& sample : DcgmSamples(OfTwoPrograms(), "node-1")) {
    std::string labels;
    for (const auto& [label, value] : sample.labels) labels += (labels.empty() ? "" : ",") + label;
    EXPECT_EQ(labels, DcgmMetrics()[sample.metric].labels);
    EXPECT_EQ(sample.labels[4].second, "node-1");
    EXPECT_EQ(sample.labels[2].second, "nvidia0");
  }
}

}  // namespace dcgm_names_test
}  // namespace reveza::monitor
