#include "reveza/insight/monitor/rows.h"

#include <gtest/gtest.h>

#include "reveza/insight/monitor/testing_snapshot.h"

namespace reveza::monitor {
namespace rows_test {

std::vector<std::string> Names(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.push_back(std::string(row.depth * 2, ' ') + row.name);
  return names;
}
using List = std::vector<std::string>;

TEST(Rows, AreATreeOfJobsThenPrograms) {
  EXPECT_EQ(Names(Rows(TestingSnapshot(), {})),
            (List{"sweep", "  57 seed=57 3/10", "  58 seed=58", "ana", "bia", "Xorg"}));
}

TEST(Rows, NestClientsBelowTheirStep) {
  Snapshot snapshot = TestingSnapshot();
  snapshot.clients[0].step = "sweep-3f2a/58";
  const auto rows = Rows(snapshot, {});
  EXPECT_EQ(Names(rows),
            (List{"sweep", "  57 seed=57 3/10", "  58 seed=58", "    ana", "bia", "Xorg"}));
  EXPECT_EQ(rows[3].job, "sweep-3f2a") << "requests apply to its job";
  EXPECT_EQ(rows[3].socket, snapshot.jobs[0].socket);
}

TEST(Rows, SortUnavailableValuesLast) {
  TableOptions options;
  options.sort = Column::kCpu;
  EXPECT_EQ(Names(Rows(TestingSnapshot(), options)),
            (List{"ana", "sweep", "  57 seed=57 3/10", "  58 seed=58", "bia", "Xorg"}));
  options.tree = false;
  EXPECT_EQ(Names(Rows(TestingSnapshot(), options)),
            (List{"ana", "57 seed=57 3/10", "sweep", "58 seed=58", "bia", "Xorg"}));
  options.reverse = true;
  EXPECT_EQ(Names(Rows(TestingSnapshot(), options)),
            (List{"57 seed=57 3/10", "ana", "sweep", "58 seed=58", "bia", "Xorg"}));
}

TEST(Rows, SortByName) {
  TableOptions options;
  options.sort = Column::kName;
  EXPECT_EQ(Names(Rows(TestingSnapshot(), options)),
            (List{"Xorg", "ana", "bia", "sweep", "  57 seed=57 3/10", "  58 seed=58"}));
}

TEST(Rows, FilterKeepsAncestorsAndDescendants) {
  TableOptions options;
  options.filter = "SEED=58";
  EXPECT_EQ(Names(Rows(TestingSnapshot(), options)), (List{"sweep", "  58 seed=58"}));
  options.filter = "sweep";
  EXPECT_EQ(Names(Rows(TestingSnapshot(), options)),
            (List{"sweep", "  57 seed=57 3/10", "  58 seed=58"}));
  options.filter = "train.py";
  EXPECT_EQ(Names(Rows(TestingSnapshot(), options)), List{"ana"});
  options.tree = false;
  options.filter = "seed=58";
  EXPECT_EQ(Names(Rows(TestingSnapshot(), options)), List{"58 seed=58"});
  options.filter = "nothing has this";
  EXPECT_TRUE(Rows(TestingSnapshot(), options).empty());
}

TEST(Rows, ShowProgressAndWaitReason) {
  const auto rows = Rows(TestingSnapshot(), {});
  ASSERT_EQ(rows[0].details.size(), 3u);
  EXPECT_EQ(rows[0].details[0],
            "56 of 500 done, 2 running, 440 waiting, 2 failed; 2 workers; 1.25 steps/s; "
            "6 min 40 s to 8 min 40 s left");
  EXPECT_EQ(rows[0].details[1], "waiting for memory: 2.1 GiB are free, a step takes 3.0 GiB");
  EXPECT_EQ(rows[0].details[2], "phi: last 0.61, mean 0.55, min 0.2, max 0.9");
  EXPECT_EQ(rows[4].details,
            List{"waiting for its turn: ana (pid 7501) has the GPU for 2.5 s more"});
  EXPECT_EQ(rows[2].state, "paused #2") << "the second attempt";
}

TEST(Rows, UnknownValuesAreNotZero) {
  Snapshot snapshot;
  Job job;
  job.id = "a";
  snapshot.jobs.push_back(job);
  const auto rows = Rows(snapshot, {});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].details, List{"n/a of n/a done"});
  EXPECT_EQ(rows[0].cpu, std::nullopt);
  EXPECT_EQ(rows[0].memory, std::nullopt);
}

TEST(Rows, HaveUniqueKeys) {
  const auto rows = Rows(TestingSnapshot(), {});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(rows[i].key, rows[j].key);
  }
}

}  // namespace rows_test
}  // namespace reveza::monitor
