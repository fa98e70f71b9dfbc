#include "datagen/run/sample.h"

#include <gtest/gtest.h>

#include "datagen/run/testing_model.h"

namespace reveza::datagen {
namespace {

TEST(Sample, HasTheFirstRowsOfEachTable) {
  const TestingModel model(1, 1000, 1000);
  const auto samples = Sample(model, 5);
  ASSERT_TRUE(samples) << samples.error().message;
  ASSERT_EQ(samples->size(), 2u);
  const TableSample& people = samples->at(0);
  EXPECT_EQ(people.table, &kTestingPeople);
  ASSERT_EQ(people.rows.size(), 5u);
  EXPECT_EQ(people.rows[0], (std::vector<std::string>{"P0", "null"}));
  EXPECT_EQ(people.rows[1], (std::vector<std::string>{"P1", "São Luís"}));
  const TableSample& payments = samples->at(1);
  ASSERT_EQ(payments.rows.size(), 5u);
  EXPECT_EQ(payments.rows[3][0], "TXN_00000003");
  EXPECT_EQ(payments.rows[3][1], "1970-01-01T00:00:03.000000");
  EXPECT_EQ(payments.rows[3][3], "PIX");
  EXPECT_EQ(payments.rows[3][4], "false");
  EXPECT_EQ(payments.rows[0][4], "null");
}

TEST(Sample, IsShorterWhereATableIs) {
  const TestingModel model(1, 8, 1000);
  const auto samples = Sample(model, 10);
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(samples->at(0).rows.size(), 7u);
  EXPECT_EQ(samples->at(1).rows.size(), 8u);
  const TestingModel empty(1, 0, 1000);
  EXPECT_TRUE(Sample(empty, 10)->at(0).rows.empty());
}

TEST(Sample, PassesErrorsOn) {
  class Broken final : public Model {
   public:
    std::span<const Table* const> tables() const override { return whole_.tables(); }
    uint64_t blocks() const override { return 1; }
    uint64_t RowsOf(const Table&, uint64_t) const override { return 5; }
    Status Make(uint64_t, std::span<const Table* const>, BatchSink&) const override {
      return Fail(Error::Code::kInternal, "broken");
    }

   private:
    TestingModel whole_{1, 5, 5};
  };
  const auto samples = Sample(Broken(), 3);
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().message, "broken");
}

}  // namespace
}  // namespace reveza::datagen
