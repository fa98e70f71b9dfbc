#include "reveza/insight/monitor/program_totals.h"

#include <gtest/gtest.h>

namespace reveza::monitor {
namespace program_totals_test {

Client Program(const char* name, const char* job, pid_t pid, double ran, double waited) {
  Client client;
  client.name = name;
  client.job = job;
  client.pid = pid;
  client.ran_seconds = ran;
  client.waited_seconds = waited;
  return client;
}

GpuUse Updated(ProgramTotals& totals, double time, std::vector<Client> clients,
               const char* name = "ana") {
  Snapshot snapshot;
  snapshot.time = time;
  snapshot.clients = std::move(clients);
  totals.Update(snapshot);
  return snapshot.used.contains(name) ? snapshot.used.at(name) : GpuUse{-1, -1};
}

TEST(ProgramTotals, GrowWithClientsAndStayWhenTheyEnd) {
  ProgramTotals totals;
  EXPECT_EQ(Updated(totals, 0, {Program("ana", "a", 1, 5, 1)}).gpu_seconds, 5);
  EXPECT_EQ(Updated(totals, 1, {Program("ana", "a", 1, 6, 2)}).gpu_seconds, 6);
  const GpuUse ended = Updated(totals, 2, {});
  EXPECT_EQ(ended.gpu_seconds, 6);
  EXPECT_EQ(ended.waited_seconds, 2);
  // Another one of the same name goes on from there.
  const GpuUse next = Updated(totals, 3, {Program("ana", "b", 2, 1, 0.5)});
  EXPECT_EQ(next.gpu_seconds, 7);
  EXPECT_EQ(next.waited_seconds, 2.5);
}

TEST(ProgramTotals, ProcessesOfAJobHaveItsTimeOnceAndWaitEach) {
  ProgramTotals totals;
  const GpuUse used =
      Updated(totals, 0, {Program("ana", "a", 1, 4, 1), Program("ana", "a", 2, 4, 2)});
  EXPECT_EQ(used.gpu_seconds, 4);
  EXPECT_EQ(used.waited_seconds, 3);
  // One of two has ended.
  const GpuUse later = Updated(totals, 1, {Program("ana", "a", 2, 5, 2)});
  EXPECT_EQ(later.gpu_seconds, 5);
  EXPECT_EQ(later.waited_seconds, 3);
}

TEST(ProgramTotals, ProcessesOfUnknownPidAreSummed) {
  ProgramTotals totals;
  EXPECT_EQ(Updated(totals, 0, {Program("ana", "a", 0, 1, 1), Program("ana", "a", 0, 1, 2)})
                .waited_seconds,
            3);
}

TEST(ProgramTotals, ACounterThatBeganAgainIsAdded) {
  ProgramTotals totals;
  Updated(totals, 0, {Program("ana", "a", 1, 9, 9)});
  EXPECT_EQ(Updated(totals, 1, {Program("ana", "a", 1, 2, 0)}).gpu_seconds, 11);
}

TEST(ProgramTotals, NamesOfEndedProgramsAreForgotten) {
  ProgramTotals totals;
  Updated(totals, 0, {Program("ana", "a", 1, 9, 9)});
  EXPECT_EQ(Updated(totals, ProgramTotals::kEndedSeconds, {}).gpu_seconds, 9);
  EXPECT_EQ(Updated(totals, ProgramTotals::kEndedSeconds + 1, {}).gpu_seconds, -1);
}

}  // namespace program_totals_test
}  // namespace reveza::monitor
