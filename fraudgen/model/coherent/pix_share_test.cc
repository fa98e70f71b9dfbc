#include <gtest/gtest.h>

#include <algorithm>

#include "fraudgen/model/coherent/parameters.h"
#include "fraudgen/model/coherent/testing_small_model.h"

namespace reveza::fraudgen::coherent {
namespace pix_share_test {

struct Counts {
  uint64_t pix = 0;
  uint64_t frauds = 0;
  uint64_t pix_frauds = 0;
};

class Counter : public BatchSink {
 public:
  Status Put(const Batch& batch) override {
    const ColumnValues& types = batch.column(batch.IndexOf("type"));
    const ColumnValues& labels = batch.column(batch.IndexOf("is_fraud"));
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      const bool pix = static_cast<Kind>(types.codes[row]) == Kind::kPix;
      counts.pix += pix ? 1 : 0;
      counts.frauds += labels.flags[row] != 0 ? 1 : 0;
      counts.pix_frauds += pix && labels.flags[row] != 0 ? 1 : 0;
    }
    return {};
  }
  Counts counts;
};

Counts CountsOf(const Parameters& parameters) {
  const auto model = ModelOf(parameters);
  Counter counter;
  const Table* const payments = &kTransactions;
  for (uint64_t block = 0; block < model->blocks(); ++block) {
    EXPECT_TRUE(model->Make(block, std::span(&payments, 1), counter));
  }
  return counter.counts;
}

TEST(PixShare, EstimateMatchesTheRowsMade) {
  Parameters parameters;
  parameters.rows = 60'000;
  parameters.frauds = {.billionths = 30'000'000};
  const Counts counts = CountsOf(parameters);
  const auto honest = static_cast<double>(counts.pix - counts.pix_frauds);
  EXPECT_NEAR(honest / static_cast<double>(parameters.rows - counts.frauds),
              static_cast<double>(HonestPixMillionths(parameters)) / 1e6, 0.03);
  EXPECT_NEAR(static_cast<double>(counts.pix_frauds) / static_cast<double>(counts.frauds),
              static_cast<double>(FraudPixMillionths(parameters)) / 1e6, 0.06);
}

// Frauds of other kinds come in addition.
TEST(PixShare, FraudRateAppliesToPixRows) {
  Parameters parameters;
  parameters.rows = 60'000;
  parameters.frauds = {.billionths = 20'000'000};
  parameters.frauds_of_pix = true;
  const Counts counts = CountsOf(parameters);
  EXPECT_NEAR(static_cast<double>(counts.pix_frauds) / static_cast<double>(counts.pix), 0.02,
              0.002);
  EXPECT_NE(counts.frauds, 1'200u);
}

TEST(PixShare, RequiresAFraudKindWithPix) {
  Parameters parameters;
  parameters.frauds_of_pix = true;
  EXPECT_TRUE(Validate(parameters));
  for (Scenario& scenario : parameters.scenarios) {
    scenario.kinds = {0, 1, 0, 0, 0, 0, 0, 0};
    scenario.chains = false;
    scenario.pays = kOutside;
    scenario.groups.clear();
    scenario.moves.clear();
  }
  const Status status = Validate(parameters);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("PIX among its kinds"), std::string::npos);
}

}  // namespace pix_share_test
}  // namespace reveza::fraudgen::coherent
