#include "reveza/jobs/decide/peak_model.h"

#include <gtest/gtest.h>

namespace reveza::jobs {
namespace peak_model_test {

using Parameters = std::vector<Parameter>;

Parameters N(int n) { return {{"n", std::to_string(n)}}; }

Bytes MiBOf(const std::optional<Bytes>& bytes) { return bytes.value_or(0) / kMiB; }

TEST(PeakModel, FollowsALine) {
  PeakModel model;
  for (int n = 1; n <= 5; ++n) model.Add(N(n), (20 + 10 * n) * kMiB);
  EXPECT_FALSE(model.Predict(N(3))) << "too few";
  model.Add(N(6), 80 * kMiB);
  EXPECT_EQ(MiBOf(model.Predict(N(3))), 50u);
  EXPECT_EQ(MiBOf(model.Predict(N(30))), 320u) << "beyond what was seen";
  EXPECT_EQ(MiBOf(model.Predict(N(-9))), 30u) << "never less than any step needed";
  EXPECT_FALSE(model.Predict(Parameters{{"n", "many"}}));
}

TEST(PeakModel, ClaimsTheLargestPeakAboveTheLine) {
  PeakModel model;
  for (int n = 1; n <= 20; ++n) model.Add(N(n), (100 * n + (n % 2 == 0 ? 30 : 0)) * kMiB);
  for (int n = 1; n <= 20; ++n) {
    EXPECT_GE(MiBOf(model.Predict(N(n))) + 1, static_cast<Bytes>(100 * n + (n % 2 == 0 ? 30 : 0)));
    EXPECT_LE(MiBOf(model.Predict(N(n))), static_cast<Bytes>(100 * n + 70));
  }
}

TEST(PeakModel, FollowsValuesThatAreNoNumbers) {
  PeakModel model;
  for (int n = 1; n <= 4; ++n) {
    model.Add(Parameters{{"n", std::to_string(n)}, {"model", "small"}}, (50 + n) * kMiB);
    model.Add(Parameters{{"n", std::to_string(n)}, {"model", "large"}}, (300 - n) * kMiB);
  }
  EXPECT_EQ(MiBOf(model.Predict(Parameters{{"n", "9"}, {"model", "small"}})), 54u);
  EXPECT_EQ(MiBOf(model.Predict(Parameters{{"n", "9"}, {"model", "large"}})), 299u);
  EXPECT_FALSE(model.Predict(Parameters{{"n", "9"}, {"model", "huge"}})) << "never seen";
}

TEST(PeakModel, SaysNothingWhereParametersDoNotTell) {
  PeakModel model;
  const int peaks[] = {120, 30, 310, 80, 40, 290, 60, 200, 35, 320};
  for (int n = 0; n < 10; ++n) model.Add(N(n), peaks[n] * kMiB);
  EXPECT_FALSE(model.Predict(N(5)));
  PeakModel same;
  for (int n = 0; n < 10; ++n) same.Add(N(n), 100 * kMiB);
  EXPECT_FALSE(same.Predict(N(99))) << "the largest peak says as much";
  EXPECT_FALSE(model.Predict({})) << "no parameters";
}

TEST(PeakModel, FitsAtOnceWhatExceedsThePrediction) {
  PeakModel model;
  for (int n = 1; n <= 200; ++n) model.Add(N(n), (20 + n) * kMiB);
  EXPECT_EQ(MiBOf(model.Predict(N(100))), 120u);
  model.Add(N(100), 320 * kMiB);
  EXPECT_GE(MiBOf(model.Predict(N(100))), 319u);
}

TEST(PeakModel, ForgetsWhatIsOld) {
  PeakModel model;
  for (int n = 0; n < 300; ++n) model.Add(N(n % 50), (900 + n % 50) * kMiB);
  // Those that are left are no longer fitted.
  for (std::size_t i = 0; i < PeakModel::kMaxSamples + PeakModel::kMaxSamples / 8; ++i) {
    model.Add(N(static_cast<int>(i % 50)), (10 + i % 50) * kMiB);
  }
  EXPECT_EQ(MiBOf(model.Predict(N(7))), 17u);
}

}  // namespace peak_model_test
}  // namespace reveza::jobs
