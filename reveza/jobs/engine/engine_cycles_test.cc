// Steps that report cycles: where they go on, and what is counted.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <utility>
#include <vector>

#include "reveza/jobs/engine/open_job.h"
#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {
namespace engine_cycles_test {

TEST_F(EngineTest, CyclesResumeAtFirstMissing) {
  // Dies at cycles 4 and 8.
  Job job = Shell(
      "i={from}; while [ $i -le {to} ]; do echo reveza step $i phi=0.$i; echo $i >> ran; "
      "[ $i = 4 ] && [ ! -e died4 ] && touch died4 && exit 1; "
      "[ $i = 8 ] && [ ! -e died8 ] && touch died8 && kill -9 $$; "
      "i=$((i+1)); done",
      1);
  job.commands[0].cycles = Cycles{10, 0};
  const auto summary = Run(job);
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_EQ(Text("ran"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
  EXPECT_EQ(summary.attempts, 3u);
  ASSERT_EQ(summary.metrics.size(), 1u);
  EXPECT_EQ(summary.metrics[0].name, "phi");
  EXPECT_EQ(summary.metrics[0].summary.count, 10u);
}

TEST_F(EngineTest, ChainBoundsCyclesPerProcess) {
  Job job = Shell(
      "echo {from}-{to} >> parts; i={from}; "
      "while [ $i -le {to} ]; do echo reveza step $i; i=$((i+1)); done",
      1);
  job.commands[0].cycles = Cycles{10, 4};
  EXPECT_EQ(Run(job).end, Engine::RunEnd::kDone);
  EXPECT_EQ(Text("parts"), "1-4\n5-8\n9-10\n");
}

TEST_F(EngineTest, ProgramWithoutCyclesFails) {
  Job job = Shell("echo {n} >> ran", 1);
  job.commands[0].cycles = Cycles{3, 0};
  EXPECT_EQ(Run(job).end, Engine::RunEnd::kFailed);
  EXPECT_EQ(Lines("ran"), 1);
}

TEST_F(EngineTest, ForceRerunsAllCyclesEvenIfInterrupted) {
  Job job = Shell(
      "i={from}; while [ $i -le {to} ]; do echo $i >> ran; echo reveza step $i; "
      "[ $i = 2 ] && [ -e stop ] && rm stop && exit 1; i=$((i+1)); done",
      1);
  job.commands[0].cycles = Cycles{4, 0};
  EXPECT_EQ(Run(job).end, Engine::RunEnd::kDone);
  RunRequest request;
  request.force = true;
  request.halt = {.mode = Halt::Mode::kSoon, .failures = 1};
  EXPECT_EQ(Run(job, request).end, Engine::RunEnd::kDone);
  EXPECT_EQ(Text("ran"), "1\n2\n3\n4\n1\n2\n3\n4\n");
  // Records of earlier supervisors do not count as results of this run.
  std::ofstream(folder_ / "stop");
  EXPECT_EQ(Run(job, request).attempts, 2u);
  EXPECT_EQ(Text("ran"), "1\n2\n3\n4\n1\n2\n3\n4\n1\n2\n3\n4\n");
}

TEST_F(EngineTest, MoreCyclesContinueAFinishedStep) {
  Job job = Shell("for i in $(seq {from} {to}); do echo $i >> ran; echo reveza step $i; done", 2);
  job.commands[0].cycles = Cycles{2, 0};
  EXPECT_EQ(Run(job, Workers(1)).end, Engine::RunEnd::kDone);
  job.commands[0].cycles = Cycles{4, 0};
  EXPECT_EQ(Run(job, Workers(1)).end, Engine::RunEnd::kDone);
  EXPECT_EQ(Text("ran"), "1\n2\n1\n2\n3\n4\n3\n4\n");
  const auto summary = Run(job, Workers(1));
  EXPECT_EQ(summary.done_before, 2u);
  EXPECT_EQ(summary.attempts, 0u);
}

// A success stays one when its journal is lost, and the cycles that are missing are still made.
TEST_F(EngineTest, MoreCyclesContinueAStepWhoseJournalWasRebuilt) {
  Job job = Shell("for i in $(seq {from} {to}); do echo $i >> ran; echo reveza step $i; done", 1);
  job.commands[0].cycles = Cycles{2, 0};
  Run(job, Workers(1));
  std::ofstream(folder_ / "jobs/test/journal.db") << "damaged";
  ASSERT_TRUE(RepairJob(*JobFolder::Find(folder_.path(), "test")));
  job.commands[0].cycles = Cycles{3, 0};
  EXPECT_EQ(Run(job, Workers(1)).end, Engine::RunEnd::kDone);
  EXPECT_EQ(Text("ran"), "1\n2\n3\n");
}

TEST_F(EngineTest, ProgressCountsCycles) {
  Job job = Shell(
      "for i in $(seq {from} {to}); do [ $i != 4 ] || [ -e go ] || exit 1; echo reveza step $i; "
      "done",
      2);
  job.commands[0].cycles = Cycles{4, 0};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
  listener_.on_progress_report = [&](const Progress& progress) {
    seen.emplace_back(progress.cycles_done, progress.cycles);
  };
  Run(job, Workers(1));
  EXPECT_EQ(seen.back(), (std::pair<std::uint64_t, std::uint64_t>(6, 8)));
  seen.clear();
  std::ofstream(folder_ / "go");
  RunRequest request = Workers(1);
  request.retry_failed = true;
  Run(job, request);
  EXPECT_EQ(seen.front(), (std::pair<std::uint64_t, std::uint64_t>(6, 8)));
  EXPECT_EQ(seen.back(), (std::pair<std::uint64_t, std::uint64_t>(8, 8)));
}

}  // namespace engine_cycles_test
}  // namespace reveza::jobs
