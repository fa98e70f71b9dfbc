// Programs that share a card: the same results as alone, whatever moves meanwhile.
#include <gtest/gtest.h>

#include <set>

#include "machine.h"

namespace reveza::testing {
namespace {

using nlohmann::json;

std::vector<std::string> Steps(const std::string& bytes, int steps, int step_ms, int seed = 1) {
  return {"--bytes",   bytes,
          "--steps",   std::to_string(steps),
          "--step-ms", std::to_string(step_ms),
          "--seed",    std::to_string(seed)};
}

// Slices short enough that a test of seconds sees many handovers.
Machine::Options Lively() {
  Machine::Options options;
  options.daemon_arguments = {"--slice-floor", "100ms", "--slice-ceiling", "200ms"};
  return options;
}

struct Program {
  std::string program;
  std::vector<std::string> arguments;
};

// Each alone first, then all together under one daemon; every hash must be the same.
json TogetherAsAlone(Machine& machine, const std::vector<Program>& runs) {
  std::vector<std::string> alone;
  for (const Program& run : runs) {
    const Ended ended = machine.Native(run.program, run.arguments);
    EXPECT_EQ(ended.status, 0) << run.program << ": " << ended.complaint;
    alone.push_back(ended.Field("hash"));
  }
  machine.StartDaemon();
  std::vector<Process> processes;
  for (const Program& run : runs) processes.push_back(machine.Start(run.program, run.arguments));
  json last;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    while (processes[i].Running()) {
      const json status = machine.Status();
      if (status.is_object() && !status["gpus"].empty()) last = status;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const auto ended = processes[i].Wait();
    EXPECT_TRUE(ended.has_value());
    EXPECT_EQ(ended->status, 0) << runs[i].program << ": " << ended->complaint;
    EXPECT_EQ(ended->Field("hash"), alone[i]) << runs[i].program;
  }
  EXPECT_TRUE(machine.GpuIsEmpty());
  return last;
}

TEST(SharingTest, TwoProgramsLargerThanTheCardTakeTurns) {
  Machine machine(Lively());
  const json status = TogetherAsAlone(
      machine, {{"worker", Steps("180MiB", 40, 20, 1)}, {"worker", Steps("180MiB", 40, 20, 2)}});
  EXPECT_GE(status["gpus"][0]["handover"]["count"], 2);
  EXPECT_GT(status["gpus"][0]["handover"]["bytes_out"], 0);
  EXPECT_GT(status["gpus"][0]["handover"]["bytes_in"], 0);
}

TEST(SharingTest, ProgramsThatFitTogetherRunTogetherAndNothingMoves) {
  Machine machine(Lively());
  const json status = TogetherAsAlone(
      machine, {{"worker", Steps("60MiB", 30, 20, 1)}, {"worker", Steps("60MiB", 30, 20, 2)}});
  EXPECT_EQ(status["gpus"][0]["handover"]["bytes_out"], 0);
}

TEST(SharingTest, FourProgramsAtThreeTimesTheCard) {
  Machine machine(Lively());
  std::vector<Program> runs;
  for (int i = 0; i < 4; ++i) runs.push_back({"worker", Steps("190MiB", 15, 20, i + 1)});
  TogetherAsAlone(machine, runs);
}

TEST(SharingTest, EveryKindOfMemoryAndSubmissionSurvivesItsTurns) {
  Machine machine(Lively());
  TogetherAsAlone(machine, {{"threads", Steps("150MiB", 30, 20)},
                            {"graph", Steps("150MiB", 30, 20)},
                            {"vmm", Steps("150MiB", 20, 20)},
                            {"worker", Steps("150MiB", 20, 20)}});
}

TEST(SharingTest, PoolsStayResidentAndAreCounted) {
  Machine machine(Lively());
  TogetherAsAlone(machine,
                  {{"pools", Steps("40MiB", 30, 20)}, {"worker", Steps("190MiB", 20, 20)}});
}

TEST(SharingTest, AllocationsFreesAndContextsInTheMiddleOfHandovers) {
  Machine machine(Lively());
  TogetherAsAlone(machine, {{"alloc_loop", Steps("150MiB", 60, 10)},
                            {"multi_context", Steps("60MiB", 8, 10)},
                            {"worker", Steps("190MiB", 20, 20)}});
}

TEST(SharingTest, ForksInMidSliceGoUnnoticed) {
  Machine machine(Lively());
  TogetherAsAlone(machine,
                  {{"forker", Steps("150MiB", 20, 10)}, {"worker", Steps("180MiB", 20, 20)}});
}

// Each fits the card, and beside the contexts of the others once it has given back its caches. With
// them, no two of three could ever go on: one is refused, and then has what it needs.
TEST(SharingTest, WhoIsRefusedFreesItsCachesAndGoesOn) {
  Machine::Options options = Lively();
  options.environment = {{"FAKECUDA_CONTEXT", "16MiB"}};
  Machine machine(options);
  const std::vector<std::string> arguments = Steps("160MiB", 24, 20);
  const Ended alone = machine.Native("caching", arguments);
  ASSERT_EQ(alone.status, 0) << alone.complaint;
  EXPECT_EQ(alone.Field("retries"), "0");
  machine.StartDaemon();
  std::vector<Process> processes;
  for (int i = 0; i < 3; ++i) processes.push_back(machine.Start("caching", arguments));
  int retries = 0;
  for (Process& process : processes) {
    const auto ended = process.Wait();
    ASSERT_TRUE(ended.has_value());
    ASSERT_EQ(ended->status, 0) << ended->complaint;
    EXPECT_EQ(ended->Field("hash"), alone.Field("hash"));
    retries += std::stoi(ended->Field("retries"));
  }
  EXPECT_GT(retries, 0) << "nobody was refused: the test tests nothing";
  EXPECT_TRUE(machine.GpuIsEmpty());
}

TEST(SharingTest, ALongCaptureIsNeverDisturbed) {
  Machine machine(Lively());
  TogetherAsAlone(machine,
                  {{"capture_slow", Steps("150MiB", 4, 10)}, {"worker", Steps("180MiB", 20, 20)}});
}

TEST(SharingTest, AnIdleProgramLeavesTheCardToTheOther) {
  Machine::Options options = Lively();
  options.daemon_arguments = {"--slice-floor", "5s", "--slice-ceiling", "30s"};
  Machine machine(options);
  // With slices of at least five seconds only idleness can end one within the programs' lives; a
  // pause is longer than a handover, on a busy machine too.
  std::vector<std::string> idle = Steps("150MiB", 20, 10);
  idle.insert(idle.end(), {"--pause-ms", "1000"});
  const json status =
      TogetherAsAlone(machine, {{"idle", idle}, {"worker", Steps("150MiB", 40, 20)}});
  EXPECT_GE(status["gpus"][0]["handover"]["count"], 1);
}

TEST(SharingTest, TwoJobsOfTwoProcessesThatWaitForEachOther) {
  Machine machine(Lively());
  TogetherAsAlone(machine,
                  {{"ipc_pair", Steps("60MiB", 20, 5, 1)}, {"ipc_pair", Steps("60MiB", 20, 5, 2)}});
}

TEST(SharingTest, TwoCardsAndAPeerCopy) {
  Machine::Options options = Lively();
  options.devices = 2;
  Machine machine(options);
  TogetherAsAlone(machine, {{"multi_gpu", Steps("160MiB", 15, 10, 1)},
                            {"multi_gpu", Steps("160MiB", 15, 10, 2)}});
}

TEST(SharingTest, ThirtyTwoProgramsAtOnce) {
  Machine::Options options = Lively();
  options.memory = "512MiB";
  Machine machine(options);
  std::vector<Program> runs;
  for (int i = 0; i < 32; ++i) runs.push_back({"worker", Steps("48MiB", 3, 5, i + 1)});
  TogetherAsAlone(machine, runs);
}

TEST(SharingTest, WithoutADaemonAProgramRunsOnWithOneWarning) {
  Machine machine;
  const Ended native = machine.Native("worker", Steps("60MiB", 10, 1));
  Process process = machine.Start("worker", Steps("60MiB", 10, 1));
  const auto ended = process.Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 0);
  EXPECT_EQ(ended->Field("hash"), native.Field("hash"));
  EXPECT_NE(ended->complaint.find("no daemon"), std::string::npos) << ended->complaint;
  EXPECT_EQ(std::count(ended->complaint.begin(), ended->complaint.end(), '\n'), 1)
      << ended->complaint;
}

TEST(SharingTest, DisabledItIsNotThere) {
  Machine machine;
  machine.StartDaemon();
  Process process = machine.Start("worker", Steps("60MiB", 5, 1), {{"REVEZA_DISABLE", "1"}});
  const auto ended = process.Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 0);
  EXPECT_EQ(ended->complaint, "");
  EXPECT_TRUE(machine.Status()["clients"].empty());
}

}  // namespace
}  // namespace reveza::testing
