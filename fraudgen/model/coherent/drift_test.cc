// Tests of drift over time.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/model/coherent/testing_collector.h"
#include "fraudgen/model/coherent/testing_small_model.h"

namespace reveza::fraudgen::coherent {
namespace drift_test {

struct Half {
  int64_t rows = 0;
  int64_t pix = 0;
  int64_t web = 0;
  int64_t purchases = 0;
  int64_t spent = 0;  // for them
  int64_t rising = 0;
  int64_t falling = 0;
};

// Lets social engineering rise and first-party fraud fall.
std::array<Half, 2> HalvesOf(const Drift& drift, int32_t rising, int32_t falling) {
  Parameters parameters;
  parameters.rows = 60'000;
  parameters.frauds = {.billionths = 60'000'000};
  parameters.drift = drift;
  Named(parameters, "ENGENHARIA_SOCIAL").drift_thousandths = rising;
  Named(parameters, "AUTOFRAUDE").drift_thousandths = falling;
  const auto model = CoherentModel::Make(parameters);
  EXPECT_TRUE(model);
  Collector collector;
  EXPECT_TRUE((*model)->Make(0, (*model)->tables(), collector));
  const Collected& rows = collector[kTransactions];
  std::array<Half, 2> halves;
  const int64_t middle = ((*model)->world().begin() + (*model)->world().end()) / 2;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    Half& half = halves[rows.Number("timestamp", row) < middle ? 0 : 1];
    if (rows.Number("is_fraud", row) != 0) {
      const std::string& type = rows.Text("fraud_type", row);
      half.rising += type == "ENGENHARIA_SOCIAL" ? 1 : 0;
      half.falling += type == "AUTOFRAUDE" ? 1 : 0;
      continue;
    }
    const auto kind = static_cast<Kind>(rows.Number("type", row));
    ++half.rows;
    half.pix += kind == Kind::kPix ? 1 : 0;
    half.web += static_cast<Channel>(rows.Number("channel", row)) == Channel::kWebBanking ? 1 : 0;
    if (kind != Kind::kCreditCard) continue;
    ++half.purchases;
    half.spent += rows.Number("amount", row);
  }
  return halves;
}

TEST(Drift, NoneByDefault) {
  const auto [first, second] = HalvesOf({}, 0, 0);
  EXPECT_NEAR(static_cast<double>(second.pix) / static_cast<double>(second.rows),
              static_cast<double>(first.pix) / static_cast<double>(first.rows), 0.02);
  EXPECT_NEAR(static_cast<double>(second.rising) / static_cast<double>(first.rising), 1, 0.35);
  EXPECT_NEAR(static_cast<double>(second.falling) / static_cast<double>(first.falling), 1, 0.35);
}

TEST(Drift, KindsAndChannelsShift) {
  const auto [first, second] = HalvesOf(
      {.amounts_thousandths = 2'000, .to_pix_thousandths = 900, .to_mobile_thousandths = 900}, 0,
      0);
  const auto share = [](int64_t part, int64_t all) {
    return static_cast<double>(part) / static_cast<double>(all);
  };
  EXPECT_GT(share(second.pix, second.rows), share(first.pix, first.rows) + 0.05);
  EXPECT_LT(share(second.web, second.rows), share(first.web, first.rows) * 0.7);
  EXPECT_GT(share(second.spent, second.purchases), share(first.spent, first.purchases) * 1.3);
}

TEST(Drift, KindsOfFraudRiseAndFall) {
  const auto [first, second] = HalvesOf({}, 1'000, -1'000);
  EXPECT_GT(second.rising, first.rising * 3 / 2);
  EXPECT_LT(second.falling, first.falling * 2 / 3);
}

TEST(Drift, RejectsValuesOutOfRange) {
  Parameters parameters;
  parameters.drift.to_pix_thousandths = 1'001;
  const Status share = Validate(parameters);
  ASSERT_FALSE(share);
  EXPECT_NE(share.error().message.find("from 0 to 1000"), std::string::npos);
  parameters = {};
  parameters.drift.amounts_thousandths = -901;
  EXPECT_FALSE(Validate(parameters));
  parameters = {};
  Named(parameters, "IDENTIDADE_FALSA").drift_thousandths = -1'001;
  const Status scenario = Validate(parameters);
  ASSERT_FALSE(scenario);
  EXPECT_NE(scenario.error().message.find("IDENTIDADE_FALSA"), std::string::npos);
}

}  // namespace drift_test
}  // namespace reveza::fraudgen::coherent
