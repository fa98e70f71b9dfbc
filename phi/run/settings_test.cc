#include "phi/run/settings.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace reveza::phi {
namespace settings_test {

std::string Refused(const std::function<void(RunSettings&)>& change) {
  RunSettings settings;
  change(settings);
  const auto prepared = Prepare(settings);
  EXPECT_FALSE(prepared.has_value());
  return prepared ? "" : prepared.error().message;
}

TEST(RunSettings, ParsesMeasures) {
  RunSettings settings;
  ASSERT_TRUE(SetMeasures("si,phi_legacy,phi_g,si", settings));
  EXPECT_EQ(MeasureNames(settings), (std::vector<std::string>{"phi_legacy", "si", "phi_g"}));
  ASSERT_TRUE(SetMeasures("none", settings));
  EXPECT_TRUE(MeasureNames(settings).empty());
  ASSERT_TRUE(SetMeasures("all", settings));
  EXPECT_EQ(MeasureNames(settings).size(), 1 + kAllMeasures.size());
}

TEST(RunSettings, SuggestsNearestMeasure) {
  RunSettings settings;
  const auto set = SetMeasures("si,phi_gg", settings);
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().message.find("'phi_gg'; did you mean 'phi_g'?"), std::string::npos)
      << set.error().message;
}

TEST(RunSettings, ObservesCorrelationOnlyForLegacy) {
  RunSettings settings;
  ASSERT_TRUE(Prepare(settings));
  EXPECT_TRUE(settings.engine.correlation);
  ASSERT_TRUE(SetMeasures("si", settings));
  ASSERT_TRUE(Prepare(settings));
  EXPECT_FALSE(settings.engine.correlation);
}

TEST(RunSettings, RejectsInvalidValues) {
  EXPECT_EQ(Refused([](auto& s) { s.window = 14; }),
            "--window is 14; use a number from 15 to 100000");
  EXPECT_NE(Refused([](auto& s) { s.lag = 0; }).find("--lag is 0"), std::string::npos);
  EXPECT_NE(Refused([](auto& s) { s.every = 0; }).find("--every"), std::string::npos);
  EXPECT_NE(Refused([](auto& s) { s.cycles = 0; }).find("--cycles"), std::string::npos);
  EXPECT_NE(Refused([](auto& s) { s.checkpoint_every = 0; }).find("--checkpoint-every"),
            std::string::npos);
  EXPECT_NE(Refused([](auto& s) { s.engine.constants.dimension = -1; }).find("elements"),
            std::string::npos);
}

}  // namespace settings_test
}  // namespace reveza::phi
