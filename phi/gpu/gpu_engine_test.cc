#include "phi/gpu/gpu_engine.h"

#include <gtest/gtest.h>

#include <vector>

#include "phi/cycles/engine.h"
#include "phi/gpu/driver.h"

namespace reveza::phi {
namespace gpu_engine_test {

EngineSettings Settings(int dimension, int runs) {
  EngineSettings settings;
  settings.constants.dimension = dimension;
  settings.constants.feedback = 0.5F;
  settings.seed = 7;
  settings.first_run = 3;
  settings.runs = runs;
  settings.correlation = true;
  return settings;
}

std::vector<Observation> Observe(CycleEngine& engine, int runs, std::initializer_list<int> calls) {
  std::vector<Observation> all;
  for (const int cycles : calls) {
    std::vector<Observation> some(static_cast<std::size_t>(cycles * runs));
    const auto done = engine.Advance(cycles, some);
    EXPECT_TRUE(done) << done.error().message;
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

void ExpectSame(const std::vector<Observation>& a, const std::vector<Observation>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].hash, b[i].hash) << "at " << i;
    for (int module = 0; module < kModules; ++module) {
      ASSERT_EQ(a[i].mean[module], b[i].mean[module]) << "at " << i;
      ASSERT_EQ(a[i].first[module], b[i].first[module]) << "at " << i;
    }
    for (int rho = 0; rho < 3; ++rho) ASSERT_EQ(a[i].rho_norm[rho], b[i].rho_norm[rho]);
    ASSERT_EQ(a[i].rho_correlation, b[i].rho_correlation) << "at " << i;
  }
}

// Skipped without a GPU.
class GpuEngineTest : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  void SetUp() override {
    const auto driver = GpuDriver::Open(0);
    if (!driver) GTEST_SKIP() << driver.error().message;
  }
};

TEST_P(GpuEngineTest, MatchesTheCpuEngine) {
  const auto [dimension, runs] = GetParam();
  const EngineSettings settings = Settings(dimension, runs);
  auto cpu = MakeCpuEngine(settings, {});
  auto gpu = MakeGpuEngine(settings, {.graph_cycles = 5});
  ASSERT_TRUE(cpu && gpu);
  const auto wanted = Observe(**cpu, runs, {24});
  ExpectSame(Observe(**gpu, runs, {24}), wanted);
  BatchState a;
  BatchState b;
  ASSERT_TRUE((*cpu)->CopyState(a) && (*gpu)->CopyState(b));
  EXPECT_EQ(a.cycle, b.cycle);
  EXPECT_TRUE(std::ranges::equal(a.vectors.all(), b.vectors.all()));
  EXPECT_TRUE(std::ranges::equal(a.ring.all(), b.ring.all()));
}

INSTANTIATE_TEST_SUITE_P(Shapes, GpuEngineTest,
                         testing::Values(std::pair(8, 1), std::pair(48, 5), std::pair(100, 64),
                                         std::pair(768, 1), std::pair(768, 7), std::pair(768, 256),
                                         std::pair(1030, 130), std::pair(128, 4099)));

TEST_P(GpuEngineTest, DoesNotDependOnCallSizesOrGraphs) {
  const auto [dimension, runs] = GetParam();
  if (runs > 300) GTEST_SKIP() << "once is enough";
  const EngineSettings settings = Settings(dimension, runs);
  auto graph = MakeGpuEngine(settings, {.graph_cycles = 8});
  auto plain = MakeGpuEngine(settings, {.graph_cycles = 0});
  ASSERT_TRUE(graph && plain);
  const auto wanted = Observe(**graph, runs, {21});
  ExpectSame(Observe(**plain, runs, {1, 8, 12}), wanted);

  // Resume from the state of the CPU engine.
  auto cpu = MakeCpuEngine(settings, {});
  ASSERT_TRUE(cpu);
  auto first = Observe(**cpu, runs, {10});
  BatchState state;
  ASSERT_TRUE((*cpu)->CopyState(state));
  auto resumed = MakeGpuEngine(settings, {.graph_cycles = 4});
  ASSERT_TRUE(resumed);
  ASSERT_TRUE((*resumed)->SetState(state));
  const auto rest = Observe(**resumed, runs, {11});
  first.insert(first.end(), rest.begin(), rest.end());
  ExpectSame(first, wanted);
}

TEST(GpuEngine, ReportsMissingDriver) {
  const auto engine = MakeGpuEngine(Settings(64, 1), {.library = "no-such-driver.so"});
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, Error::Code::kUnavailable);
  EXPECT_NE(engine.error().message.find("--device cpu"), std::string::npos);
}

TEST(GpuEngine, RejectsDimensionBeyondSharedMemory) {
  const auto engine = MakeGpuEngine(Settings(60000, 1), {});
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, Error::Code::kInvalidArgument);
}

TEST(GpuEngine, RejectsRunsBeyondGrid) {
  const auto engine = MakeGpuEngine(Settings(8, 5'000'000), {});
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, Error::Code::kInvalidArgument);
  EXPECT_NE(engine.error().message.find("4194240"), std::string::npos) << engine.error().message;
}

TEST(GpuEngine, EstimatesDeviceMemory) {
  const EngineSettings settings = Settings(768, 256);
  EXPECT_GT(GpuBytes(settings, {}), StateBytes(settings));
  EXPECT_LT(GpuBytes(settings, {}), 2 * StateBytes(settings));
}

TEST(GpuEngine, EstimatesPinnedMemory) {
  const EngineSettings settings = Settings(64, 1000);
  const Bytes few = GpuHostBytes(settings, {.graph_cycles = 16});
  const Bytes many = GpuHostBytes(settings, {.graph_cycles = 116});
  EXPECT_EQ(many - few, Bytes{2} * 100 * 1000 * sizeof(Observation));
  EXPECT_EQ(GpuHostBytes(settings, {.graph_cycles = 0}), few);
}

}  // namespace gpu_engine_test
}  // namespace reveza::phi
