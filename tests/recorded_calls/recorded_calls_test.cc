// What `reveza trace --calls` records of the client programs can be played again, and does the same
// natively and under Reveza.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "reveza/gpu/calls/reader.h"
#include "tests/random_programs/trial.h"

namespace reveza::recorded_calls {
namespace recorded_calls_test {

using testing::Environment;
using testing::FakeCard;
using testing::Process;
using testing::ProcessResult;

class RecordedCallsTest : public ::testing::Test {
 protected:
  RecordedCallsTest() : card_(Environment{{"FAKECUDA_DEVICES", "2"}}) {}

  std::string File() const { return card_.folder() + "/recording"; }

  // Runs a client with the recorder.
  ProcessResult Record(const std::string& client, std::vector<std::string> arguments = {},
                       const Environment& more = {}) {
    std::vector<std::string> command{REVEZA_PROGRAM, "trace", "--calls",
                                     File(),         "--",    testing::ClientPath(client)};
    if (arguments.empty()) arguments = {"--bytes", "16MiB", "--steps", "4"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    Environment environment = more;
    environment.insert(card_.environment().begin(), card_.environment().end());
    Process process(command, environment, card_.folder() + "/recorded");
    return process.Wait().value_or(ProcessResult{});
  }

  ProcessResult Play(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), File());
    return card_.Run(testing::ClientPath("play_calls"), arguments);
  }

  static std::string Contents(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  // The names of the recorded calls, with how often each was made.
  static std::map<std::string, int> Calls(const std::string& file) {
    std::map<std::string, int> names;
    const auto recording = calls::CallRecording::Parse(Contents(file));
    EXPECT_TRUE(recording.has_value()) << recording.error().message;
    if (!recording) return names;
    for (const calls::Record& record : recording->records()) {
      ++names[recording->calls()[record.call].name];
    }
    return names;
  }

  FakeCard card_;
};

TEST_F(RecordedCallsTest, ProgramsRunAsWithoutTheRecorder) {
  const ProcessResult alone =
      card_.Run(testing::ClientPath("graph"), {"--bytes", "8MiB", "--steps", "4", "--json"});
  const ProcessResult recorded = Record("graph", {"--bytes", "8MiB", "--steps", "4", "--json"});
  EXPECT_EQ(recorded.status, 0) << recorded.error_output;
  EXPECT_FALSE(recorded.Field("hash").empty());
  EXPECT_EQ(recorded.Field("hash"), alone.Field("hash"));
}

TEST_F(RecordedCallsTest, CallsAreRecordedOnce) {
  ASSERT_EQ(Record("graph").status, 0);
  const auto calls = Calls(File());
  EXPECT_EQ(calls.at("cuInit"), 1);
  EXPECT_EQ(calls.at("cuStreamBeginCapture_v2"), 1);
  EXPECT_EQ(calls.at("cuGraphLaunch"), 4);
  EXPECT_EQ(calls.at("cuStreamCreate"), 2);
  EXPECT_FALSE(calls.contains("cuDeviceGet"));
}

TEST_F(RecordedCallsTest, EachWayOfResolvingIsRecorded) {
  for (const std::string how : {"proc", "dlsym", "per-thread"}) {
    ASSERT_EQ(Record("worker", {"--bytes", "4MiB", "--steps", "2", "--resolve", how}).status, 0);
    const auto calls = Calls(File());
    EXPECT_GT(calls.contains("cuLaunchKernel") ? calls.at("cuLaunchKernel")
                                               : calls.at("cuLaunchKernel_ptsz"),
              0)
        << how;
    const ProcessResult played = Play();
    EXPECT_EQ(played.status, 0) << played.output << played.error_output;
    EXPECT_FALSE(played.output.contains("failed:")) << played.output;
  }
  ASSERT_EQ(Record("worker_direct").status, 0);
  EXPECT_TRUE(Calls(File()).contains("cuLaunchKernel"));
}

TEST_F(RecordedCallsTest, EachThreadIsRecorded) {
  ASSERT_EQ(Record("threads").status, 0);
  const auto recording = calls::CallRecording::Parse(Contents(File()));
  ASSERT_TRUE(recording.has_value());
  std::set<std::uint32_t> threads;
  for (const calls::Record& record : recording->records()) threads.insert(record.thread);
  EXPECT_GE(threads.size(), 4u);
}

// The records are in the file as soon as the calls have returned.
TEST_F(RecordedCallsTest, AKilledProgramIsRecordedUpToItsLastCall) {
  const ProcessResult killed =
      Record("crash", {"--bytes", "8MiB", "--steps", "9", "--at-step", "5"});
  EXPECT_EQ(killed.status, 128 + 9);
  const auto calls = Calls(File());
  EXPECT_TRUE(calls.contains("cuLaunchKernel"));
  const ProcessResult played = Play();
  EXPECT_EQ(played.status, 0) << played.output << played.error_output;
}

TEST_F(RecordedCallsTest, EachProcessWritesAFileOfItsOwn) {
  ASSERT_EQ(Record("forker").status, 0);
  int children = 0;
  for (const auto& entry : std::filesystem::directory_iterator(card_.folder())) {
    if (!entry.path().filename().string().starts_with("recording.")) continue;
    ++children;
    EXPECT_FALSE(Calls(entry.path()).empty());
  }
  EXPECT_GT(children, 0);
  EXPECT_TRUE(Calls(File()).contains("cuLaunchKernel"));
}

TEST_F(RecordedCallsTest, AProgramWithoutCudaWritesNoFile) {
  EXPECT_EQ(Record("never_cuda").status, 0);
  EXPECT_FALSE(std::filesystem::exists(File()));
}

TEST_F(RecordedCallsTest, ACallNewerThanTheTableIsRecordedByName) {
  const ProcessResult ran =
      Record("newer_call", {"-"}, {{"LD_LIBRARY_PATH", REVEZA_TEST_MINI_CUDA_FOLDER}});
  ASSERT_EQ(ran.status, 0) << ran.error_output;
  const auto recording = calls::CallRecording::Parse(Contents(File()));
  ASSERT_TRUE(recording.has_value()) << recording.error().message;
  ASSERT_EQ(recording->records().size(), 1u);
  const calls::Record& record = recording->records()[0];
  EXPECT_EQ(recording->calls()[record.call].name, "unknown");
  EXPECT_EQ(recording->Values(record)[0].bytes, "cuMemAlloc_v9");
  const ProcessResult played = Play();
  EXPECT_EQ(played.status, 0) << played.error_output;
  EXPECT_TRUE(played.output.contains("skipped: 1 cuMemAlloc_v9")) << played.output;
}

TEST_F(RecordedCallsTest, ANewRecordingReplacesTheOld) {
  ASSERT_EQ(Record("worker").status, 0);
  ASSERT_EQ(Record("graph").status, 0);
  EXPECT_TRUE(Calls(File()).contains("cuGraphLaunch"));
}

TEST_F(RecordedCallsTest, ACutRecordingIsPlayedUpToItsLastWholeRecord) {
  ASSERT_EQ(Record("worker").status, 0);
  const ProcessResult whole = Play();
  const std::string contents = Contents(File());
  calls::FileHeader header{};
  ASSERT_GT(contents.size(), sizeof header);
  std::memcpy(&header, contents.data(), sizeof header);
  std::ofstream(File(), std::ios::binary) << contents.substr(0, header.header_bytes + 1000);
  const ProcessResult played = Play();
  EXPECT_EQ(played.status, 0) << played.output << played.error_output;
  EXPECT_TRUE(played.output.contains("the recording is cut")) << played.output;
  EXPECT_FALSE(whole.output.contains("the recording is cut"));
}

TEST_F(RecordedCallsTest, OtherFilesAreNotPlayed) {
  std::ofstream(File()) << "something else";
  const ProcessResult played = Play();
  EXPECT_EQ(played.status, 2);
  EXPECT_TRUE(played.error_output.contains(File())) << played.error_output;
}

// Sizes are divided, and the replay makes the same calls.
TEST_F(RecordedCallsTest, AScaledReplayMakesTheSameCalls) {
  for (const std::string client : {"worker", "vmm", "graph"}) {
    ASSERT_EQ(Record(client).status, 0);
    for (const std::string scale : {"8", "64"}) {
      const ProcessResult played = Play({"--scale", scale});
      EXPECT_EQ(played.status, 0) << client << ": " << played.output << played.error_output;
      EXPECT_FALSE(played.output.contains("failed:")) << client << ": " << played.output;
      EXPECT_FALSE(played.output.contains(" 0 bytes compared")) << played.output;
    }
  }
}

// A byte that something else changes is found, wherever it is changed.
TEST_F(RecordedCallsTest, AWrongByteIsFound) {
  ASSERT_EQ(Record("graph").status, 0);
  EXPECT_EQ(Play().status, 0);
  for (const std::string call : {"24", "41", "46"}) {
    const ProcessResult played = Play({"--corrupt", call});
    EXPECT_EQ(played.status, 1) << call << ": " << played.output;
    EXPECT_TRUE(played.output.contains("wrong:")) << played.output;
  }
}

TEST_F(RecordedCallsTest, EveryKindOfMemoryIsPlayed) {
  const ProcessResult recorded = Record("assorted_calls", {"-"});
  ASSERT_EQ(recorded.status, 0) << recorded.error_output;
  const ProcessResult played = Play();
  EXPECT_EQ(played.status, 0) << played.output << played.error_output;
  EXPECT_FALSE(played.output.contains("failed:")) << played.output;
  EXPECT_FALSE(played.output.contains("unread:")) << played.output;
  // The end of the capture that failed, once in each of five rounds.
  EXPECT_TRUE(played.output.contains("skipped: 5 cuStreamEndCapture")) << played.output;
  EXPECT_EQ(played.output.find("skipped:"), played.output.rfind("skipped:")) << played.output;
  const ProcessResult scaled = Play({"--scale", "16"});
  EXPECT_EQ(scaled.status, 0) << scaled.output << scaled.error_output;
  EXPECT_FALSE(scaled.output.contains("failed:")) << scaled.output;
}

struct Client {
  const char* name;
  int devices;
  bool moves;  // has memory that must move
};

class ReplayTest : public RecordedCallsTest, public ::testing::WithParamInterface<Client> {};

TEST_P(ReplayTest, IsTheSameUnderReveza) {
  std::vector<std::string> arguments = {"--bytes", "16MiB", "--steps", "4"};
  // Fewer of the small allocations, each of which is filled, changed and hashed.
  if (GetParam().name == std::string("worker")) arguments.insert(arguments.end(), {"--small", "9"});
  ASSERT_EQ(Record(GetParam().name, arguments).status, 0);
  const ProcessResult played = Play();
  EXPECT_EQ(played.status, 0) << played.output << played.error_output;
  EXPECT_FALSE(played.output.contains("failed:")) << played.output;
  random_programs::Trial trial({.devices = GetParam().devices, .limit = std::chrono::seconds(250)});
  // Longer than many slices, however short the recording.
  const auto recording = calls::CallRecording::Parse(Contents(File()));
  ASSERT_TRUE(recording.has_value());
  const std::size_t pause = 300'000 / (recording->records().size() + 1);
  const auto failure = trial.RunClient("play_calls", {File(), "--pause", std::to_string(pause)});
  EXPECT_FALSE(failure.has_value()) << *failure;
  if (!GetParam().moves) return;
  EXPECT_GT(trial.Handovers(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, ReplayTest,
                         ::testing::Values(Client{"worker", 1, true}, Client{"threads", 1, true},
                                           Client{"graph", 1, true}, Client{"vmm", 1, true},
                                           Client{"pools", 1, true}, Client{"caching", 1, true},
                                           Client{"capture_slow", 1, true},
                                           Client{"multi_context", 1, true},
                                           Client{"multi_gpu", 2, true},
                                           Client{"assorted_calls", 1, true}),
                         [](const auto& one) { return one.param.name; });

// Training steps of frameworks on an H100 or H200; see bench/gpu_record.sh.
struct Recording {
  const char* name;
  bool moves = true;  // as of Client; what little cupy-pool has fits beside the contender
  int devices = 1;
  int budget = 256;     // MiB
  int contender = 236;  // MiB
  int pause = 300;      // mean, in microseconds
};

class FrameworkTest : public ::testing::TestWithParam<Recording> {};

TEST_P(FrameworkTest, IsTheSameUnderReveza) {
  const Recording& recording = GetParam();
  const std::string file = std::string(REVEZA_RECORDINGS) + "/" + recording.name + ".calls";
  const std::vector<std::string> arguments = {file, "--scale", "64", "--pause",
                                              std::to_string(recording.pause)};
  const FakeCard card(Environment{{"FAKECUDA_MEMORY", "1GiB"},
                                  {"FAKECUDA_DEVICES", std::to_string(recording.devices)}});
  const ProcessResult played = card.Run(testing::ClientPath("play_calls"), arguments);
  EXPECT_EQ(played.status, 0) << played.output << played.error_output;
  EXPECT_FALSE(played.output.contains("failed:")) << played.output;
  EXPECT_FALSE(played.output.contains(" 0 bytes compared")) << played.output;
  random_programs::Trial trial(
      {.devices = recording.devices,
       .memory = "1GiB",
       .budget = std::to_string(recording.budget) + "MiB",
       .host_budget = "2GiB",
       .contender_bytes = static_cast<std::uint64_t>(recording.contender) << 20,
       .limit = std::chrono::seconds(250)});
  const auto failure = trial.RunClient("play_calls", arguments);
  EXPECT_FALSE(failure.has_value()) << *failure;
  if (!recording.moves) return;
  EXPECT_GT(trial.Handovers(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, FrameworkTest,
                         ::testing::Values(Recording{"cupy"}, Recording{"cupy-pool", false},
                                           Recording{"jax"}, Recording{"torch"},
                                           Recording{"torch-async"}, Recording{"torch-compile"},
                                           Recording{"torch-graph"}, Recording{"torch-segments"},
                                           Recording{"nccl-rank", true, 2, 500, 300, 50}),
                         [](const auto& one) {
                           std::string name = one.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace recorded_calls_test
}  // namespace reveza::recorded_calls
