#include "phi/run/run_measures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "phi/measures/window.h"

namespace reveza::phi {
namespace run_measures_test {

Observation Made(std::uint64_t cycle) {
  Observation made;
  for (int module = 0; module < kModules; ++module) {
    const DrawPosition at{.key = KeyOf(1),
                          .run = 0,
                          .cycle = static_cast<std::uint32_t>(cycle),
                          .site = static_cast<std::uint32_t>(module)};
    made.mean[module] = NormalAt(at, 0);
    made.first[module] = NormalAt(at, 1);
  }
  made.rho_correlation = 0.25F;
  return made;
}

RunSettings Settings() {
  RunSettings settings;
  EXPECT_TRUE(SetMeasures("phi_legacy,si,phi_r", settings));
  settings.window = 20;
  settings.every = 10;
  EXPECT_TRUE(Prepare(settings));
  return settings;
}

TEST(RunMeasures, AreAvailableWhenDue) {
  const RunSettings settings = Settings();
  RunMeasures track(settings);
  for (std::uint64_t cycle = 1; cycle <= 45; ++cycle) {
    double values[3] = {};
    ASSERT_TRUE(track.Add(cycle, Made(cycle), values));
    EXPECT_EQ(std::isnan(values[0]), cycle < 10) << cycle;
    const bool due = cycle >= 20 && cycle % 10 == 0;
    EXPECT_EQ(std::isnan(values[1]), !due) << cycle;
    EXPECT_EQ(std::isnan(values[2]), !due) << cycle;
  }
}

TEST(RunMeasures, MatchMeasureWindow) {
  const RunSettings settings = Settings();
  RunMeasures track(settings);
  double values[3] = {};
  std::vector<double> rows;
  for (std::uint64_t cycle = 1; cycle <= 200; ++cycle) {
    ASSERT_TRUE(track.Add(cycle, Made(cycle), values));
    if (cycle <= 180) continue;
    for (const float mean : Made(cycle).mean) rows.push_back(mean);
  }
  WindowOptions options;
  options.measures = {Measure::kStochasticInteraction};
  const auto right = MeasureWindow(SeriesView{rows.data(), 20, kModules, kModules}, options);
  ASSERT_TRUE(right);
  EXPECT_EQ(values[1], right->front().value);
}

TEST(RunMeasures, SingularWindowsKeepLegacyOnly) {
  RunSettings settings;
  ASSERT_TRUE(SetMeasures("phi_legacy,si,phi_g", settings));
  settings.window = 20;
  settings.every = 20;
  ASSERT_TRUE(Prepare(settings));
  RunMeasures track(settings);
  for (std::uint64_t cycle = 1; cycle <= 20; ++cycle) {
    // Two modules that are one but for rounding.
    Observation made = Made(cycle);
    made.mean[1] = made.mean[0] + 1e-6F * made.first[0];
    double values[3] = {};
    const auto added = track.Add(cycle, made, values);
    if (cycle < 20) {
      ASSERT_TRUE(added) << cycle;
      continue;
    }
    ASSERT_FALSE(added);
    EXPECT_TRUE(added.error().message.contains("nearly singular")) << added.error().message;
    EXPECT_GT(values[0], 0.0);
    EXPECT_TRUE(std::isnan(values[1])) << values[1];
    EXPECT_TRUE(std::isnan(values[2])) << values[2];
  }
}

TEST(RunMeasures, RestoreResumesIdentically) {
  const RunSettings settings = Settings();
  for (const std::uint64_t pause : {5U, 12U, 33U, 90U}) {
    RunMeasures track(settings);
    RunMeasures other(settings);
    for (std::uint64_t cycle = 1; cycle <= 100; ++cycle) {
      double right[3] = {};
      double made[3] = {};
      ASSERT_TRUE(track.Add(cycle, Made(cycle), right));
      if (cycle == pause) {
        EXPECT_LE(track.Samples().size(), RunMeasures::RetainedSamples(settings));
        ASSERT_TRUE(other.Restore(cycle, track.Samples()));
      } else if (cycle > pause) {
        ASSERT_TRUE(other.Add(cycle, Made(cycle), made));
        for (int i = 0; i < 3; ++i) {
          EXPECT_TRUE(made[i] == right[i] || (std::isnan(made[i]) && std::isnan(right[i])))
              << pause << ' ' << cycle << ' ' << i;
        }
      }
    }
  }
}

}  // namespace run_measures_test
}  // namespace reveza::phi
