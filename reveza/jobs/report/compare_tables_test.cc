#include "reveza/jobs/report/compare_tables.h"

#include <gtest/gtest.h>

namespace reveza::jobs {
namespace compare_tables_test {

using nlohmann::json;
using Rows = std::vector<std::vector<json>>;

StepTable Table(std::vector<std::string> parameters, std::vector<std::string> metrics, Rows rows) {
  StepTable table;
  table.columns = {"step"};
  const auto add = [&](const std::vector<std::string>& names) {
    table.columns.insert(table.columns.end(), names.begin(), names.end());
  };
  add(parameters);
  add({"state", "code", "seconds"});
  add(metrics);
  table.rows = std::move(rows);
  return table;
}

TEST(CompareTables, JoinsStepsByTheirParameters) {
  const auto a = Table({"seed", "model"}, {"phi"},
                       {{1, "7", "x", "done", 0, 2.0, 0.5}, {2, "8", "x", "done", 0, 4.0, 0.7}});
  const auto b = Table({"model", "seed"}, {},
                       {{1, "x", "8", "done", 0, 1.0}, {2, "x", "9", "failed", 1, 3.0}});
  const auto compared = CompareTables(a, b);
  EXPECT_EQ(compared.steps.columns,
            (std::vector<std::string>{"seed", "model", "state_a", "state_b", "code_a", "code_b",
                                      "seconds_a", "seconds_b", "phi_a", "phi_b"}));
  EXPECT_EQ(compared.steps.rows, (Rows{{"7", "x", "done", {}, 0, {}, 2.0, {}, 0.5, {}},
                                       {"8", "x", "done", "done", 0, 0, 4.0, 1.0, 0.7, {}},
                                       {"9", "x", {}, "failed", {}, 1, {}, 3.0, {}, {}}}));
  EXPECT_EQ(compared.done_in_both, 1u);
  EXPECT_EQ(compared.done_only_in_a, 1u);
  EXPECT_EQ(compared.done_only_in_b, 0u);
  EXPECT_EQ(compared.summary.rows, (Rows{{"seconds", 4.0, 1.0, -75.0}}));
}

TEST(CompareTables, AveragesOverStepsThatAreDoneInBoth) {
  const auto a = Table({"n"}, {"phi"},
                       {{1, "1", "done", 0, 1.0, 0.0},
                        {2, "2", "done", 0, 3.0, 0.0},
                        {3, "3", "failed", 1, 99.0, 9.0}});
  const auto b = Table({"n"}, {"phi"},
                       {{1, "1", "done", 0, 2.0, -1.0},
                        {2, "2", "done", 0, 4.0, 2.0},
                        {3, "3", "done", 0, 5.0, 3.0}});
  EXPECT_EQ(CompareTables(a, b).summary.rows,
            (Rows{{"seconds", 2.0, 3.0, 50.0}, {"phi", 0.0, 0.5, {}}}));
}

TEST(CompareTables, ComparesStepsWithoutParametersByNumber) {
  const auto compared = CompareTables(Table({}, {}, {{1, "done", 0, 1.0}, {2, "done", 0, 1.0}}),
                                      Table({}, {}, {{2, "done", 0, 3.0}}));
  EXPECT_EQ(compared.steps.columns[0], "step");
  EXPECT_EQ(compared.steps.rows[1], (std::vector<json>{2, "done", "done", 0, 0, 1.0, 3.0}));
  EXPECT_EQ(compared.done_only_in_a, 1u);
}

// Steps of other commands with the same parameters, and equal steps.
TEST(CompareTables, FindsNoChangeOfAJobAgainstItself) {
  const auto several = Table({"command", "seed", "n"}, {"phi"},
                             {{1, 1, "1", {}, "done", 0, 1.0, 0.5},
                              {2, 2, "1", {}, "done", 0, 4.0, 0.7},
                              {3, 2, {}, "1", "done", 0, 9.0, {}},
                              {4, 3, {}, {}, "done", 0, 7.0, {}},
                              {5, 3, {}, {}, "done", 0, 8.0, {}}});
  const auto equal = Table(
      {"n"}, {}, {{1, "1", "done", 0, 1.0}, {2, "1", "done", 0, 3.0}, {3, "1", "done", 0, 5.0}});
  for (const StepTable& table : {several, equal}) {
    const auto compared = CompareTables(table, table);
    EXPECT_EQ(compared.done_in_both, table.rows.size());
    EXPECT_EQ(compared.done_only_in_a + compared.done_only_in_b, 0u);
    EXPECT_EQ(compared.steps.rows.size(), table.rows.size());
    for (const auto& row : compared.summary.rows) EXPECT_EQ(row[3], 0.0) << row[0];
  }
}

TEST(CompareTables, TheOnlyCommandIsTheFirst) {
  const auto one = Table({"n"}, {}, {{1, "1", "done", 0, 1.0}});
  const auto two =
      Table({"command", "n"}, {}, {{1, 2, "1", "done", 0, 9.0}, {2, 1, "1", "done", 0, 2.0}});
  EXPECT_EQ(CompareTables(one, two).summary.rows, (Rows{{"seconds", 1.0, 2.0, 100.0}}));
}

TEST(CompareTables, AcceptsEmptyJobs) {
  const auto compared = CompareTables(Table({"n"}, {}, {}), Table({}, {}, {}));
  EXPECT_TRUE(compared.steps.rows.empty());
  EXPECT_TRUE(compared.summary.rows.empty());
}

}  // namespace compare_tables_test
}  // namespace reveza::jobs
