// Programs that share a GPU compute the same results as natively, whatever is swapped meanwhile.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <functional>
#include <set>
#include <thread>

#include "common/base/bytes.h"
#include "common/base/unique_fd.h"
#include "reveza/gpu/wire/codec.h"
#include "tests/support/machine.h"

namespace reveza::testing {
namespace sharing_test {

using nlohmann::json;

std::vector<std::string> Steps(const std::string& bytes, int steps, int step_ms, int seed = 1) {
  return {"--bytes",   bytes,
          "--steps",   std::to_string(steps),
          "--step-ms", std::to_string(step_ms),
          "--seed",    std::to_string(seed)};
}

// Slices short enough for many handovers within seconds.
Machine::Options ShortSlices() {
  Machine::Options options;
  options.daemon_arguments = {"--slice-floor", "100ms", "--slice-ceiling", "200ms"};
  return options;
}

struct Program {
  std::string program;
  std::vector<std::string> arguments;
};

enum class Start { kTogether, kOneByOne };

// Waits until so many clients have memory.
bool WaitForMemoryOf(const Machine& machine, std::size_t clients) {
  return machine.WaitFor([clients](const json& status) {
    return static_cast<std::size_t>(std::ranges::count_if(
               status.value("clients", json::array()), [](const json& client) {
                 return std::ranges::any_of(client["gpus"], [](const json& gpu) {
                   return gpu["resident"].get<std::uint64_t>() > 0;
                 });
               })) >= clients;
  });
}

// Runs each program natively, then all concurrently under one daemon, and expects equal hashes.
// Calls `watch` with each status on the way. Returns the last one. kOneByOne: each starts once the
// one before has memory.
json ExpectNativeResultsShared(
    Machine& machine, const std::vector<Program>& runs,
    const std::function<void(const json&)>& watch = [](const json&) {},
    Start start = Start::kTogether) {
  std::vector<std::string> alone;
  for (const Program& run : runs) {
    const ProcessResult ended = machine.RunNative(run.program, run.arguments);
    EXPECT_EQ(ended.status, 0) << run.program << ": " << ended.error_output;
    alone.push_back(ended.Field("hash"));
  }
  machine.StartDaemon();
  std::vector<Process> processes;
  for (const Program& run : runs) {
    if (start == Start::kOneByOne) {
      EXPECT_TRUE(WaitForMemoryOf(machine, processes.size()));
    }
    processes.push_back(machine.Start(run.program, run.arguments));
  }
  json last;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    while (processes[i].Running()) {
      const json status = machine.Status();
      if (status.is_object() && !status["gpus"].empty()) {
        last = status;
        watch(status);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const auto ended = processes[i].Wait();
    EXPECT_TRUE(ended.has_value());
    EXPECT_EQ(ended->status, 0) << runs[i].program << ": " << ended->error_output;
    EXPECT_EQ(ended->Field("hash"), alone[i]) << runs[i].program;
  }
  EXPECT_TRUE(machine.GpuIsEmpty());
  return last;
}

TEST(SharingTest, OversubscribedProgramsTakeTurns) {
  Machine machine(ShortSlices());
  const json status = ExpectNativeResultsShared(
      machine, {{"worker", Steps("180MiB", 40, 20, 1)}, {"worker", Steps("180MiB", 40, 20, 2)}});
  EXPECT_GE(status["gpus"][0]["handover"]["count"], 2);
  EXPECT_GT(status["gpus"][0]["handover"]["bytes_out"], 0);
  EXPECT_GT(status["gpus"][0]["handover"]["bytes_in"], 0);
}

TEST(SharingTest, FittingProgramsRunConcurrentlyWithoutSwapping) {
  Machine machine(ShortSlices());
  const json status = ExpectNativeResultsShared(
      machine, {{"worker", Steps("60MiB", 30, 20, 1)}, {"worker", Steps("60MiB", 30, 20, 2)}});
  EXPECT_EQ(status["gpus"][0]["handover"]["bytes_out"], 0);
}

TEST(SharingTest, FourProgramsAtThreeTimesGpuMemory) {
  Machine machine(ShortSlices());
  std::vector<Program> runs;
  for (int i = 0; i < 4; ++i) runs.push_back({"worker", Steps("190MiB", 15, 20, i + 1)});
  ExpectNativeResultsShared(machine, runs);
}

TEST(SharingTest, AllMemoryAndSubmissionKindsSurviveHandovers) {
  Machine machine(ShortSlices());
  ExpectNativeResultsShared(machine, {{"threads", Steps("150MiB", 30, 20)},
                                      {"graph", Steps("150MiB", 30, 20)},
                                      {"vmm", Steps("150MiB", 20, 20)},
                                      {"worker", Steps("150MiB", 20, 20)}});
}

TEST(SharingTest, PoolsSurviveHandovers) {
  Machine machine(ShortSlices());
  ExpectNativeResultsShared(
      machine, {{"pools", Steps("40MiB", 30, 20)}, {"worker", Steps("205MiB", 20, 20)}});
}

TEST(SharingTest, AllocationsAndContextsChangeDuringHandovers) {
  Machine machine(ShortSlices());
  ExpectNativeResultsShared(machine, {{"alloc_loop", Steps("150MiB", 60, 10)},
                                      {"multi_context", Steps("60MiB", 8, 10)},
                                      {"worker", Steps("190MiB", 20, 20)}});
}

TEST(SharingTest, ForkDuringSliceIsHarmless) {
  Machine machine(ShortSlices());
  ExpectNativeResultsShared(
      machine, {{"forker", Steps("150MiB", 20, 10)}, {"worker", Steps("180MiB", 20, 20)}});
}

// Each program fits beside the contexts of the others, but not with its caches. An allocation is
// refused, and succeeds after the program has freed its caches.
TEST(SharingTest, RefusedProgramFreesCachesAndContinues) {
  Machine::Options options = ShortSlices();
  options.environment = {{"FAKECUDA_CONTEXT", "16MiB"}};
  Machine machine(options);
  const std::vector<std::string> arguments = Steps("160MiB", 24, 20);
  const ProcessResult alone = machine.RunNative("caching", arguments);
  ASSERT_EQ(alone.status, 0) << alone.error_output;
  EXPECT_EQ(alone.Field("retries"), "0");
  machine.StartDaemon();
  std::vector<Process> processes;
  for (int i = 0; i < 3; ++i) processes.push_back(machine.Start("caching", arguments));
  int retries = 0;
  for (Process& process : processes) {
    const auto ended = process.Wait();
    ASSERT_TRUE(ended.has_value());
    ASSERT_EQ(ended->status, 0) << ended->error_output;
    EXPECT_EQ(ended->Field("hash"), alone.Field("hash"));
    retries += std::stoi(ended->Field("retries"));
  }
  EXPECT_GT(retries, 0) << "no allocation was refused";
  EXPECT_TRUE(machine.GpuIsEmpty());
}

TEST(SharingTest, HandoverKeepsLongCaptureValid) {
  Machine machine(ShortSlices());
  ExpectNativeResultsShared(
      machine, {{"capture_slow", Steps("150MiB", 4, 10)}, {"worker", Steps("180MiB", 20, 20)}});
}

TEST(SharingTest, IdleProgramYieldsGpu) {
  Machine::Options options = ShortSlices();
  options.daemon_arguments = {"--slice-floor", "5s", "--slice-ceiling", "30s"};
  Machine machine(options);
  // With slices of at least five seconds, only idleness ends one while the programs run. The pause
  // exceeds a handover even on a busy machine.
  std::vector<std::string> idle = Steps("150MiB", 20, 10);
  idle.insert(idle.end(), {"--pause-ms", "1000"});
  const json status =
      ExpectNativeResultsShared(machine, {{"idle", idle}, {"worker", Steps("150MiB", 40, 20)}});
  EXPECT_GE(status["gpus"][0]["handover"]["count"], 1);
}

TEST(SharingTest, ProcessesOfJobSynchronizeThroughIpcEvents) {
  Machine machine(ShortSlices());
  ExpectNativeResultsShared(
      machine, {{"ipc_pair", Steps("60MiB", 20, 5, 1)}, {"ipc_pair", Steps("60MiB", 20, 5, 2)}});
}

class IpcMemoryTest : public ::testing::TestWithParam<const char*> {};

// Whoever ends first, by itself or killed, the memory is there as long as the other one needs it,
// and gone afterwards.
TEST_P(IpcMemoryTest, ProcessesOfJobShareMemory) {
  Machine machine(ShortSlices());
  std::vector<std::string> pair = Steps("70MiB", 30, 20);
  pair.insert(pair.end(), {"--end", GetParam()});
  // The worker fits beside neither process, and still runs when a busy machine has started them.
  const json status = ExpectNativeResultsShared(
      machine, {{"worker", Steps("190MiB", 50, 20)}, {"ipc_memory", pair}}, [](const json&) {},
      Start::kOneByOne);
  EXPECT_GE(status["gpus"][0]["handover"]["count"], 1);
}

INSTANTIATE_TEST_SUITE_P(ByEnd, IpcMemoryTest, ::testing::Values("0", "1", "2"));

class RanksTest : public ::testing::TestWithParam<const char*> {};

// One rank may be a step ahead when its gate closes; the other is admitted what it lacks.
TEST_P(RanksTest, RanksAheadOfEachOtherAreAligned) {
  Machine machine(ShortSlices());
  std::vector<std::string> ranks = Steps("90MiB", 1000, 2);
  ranks.insert(ranks.end(), {"--values", GetParam()});
  std::uint64_t aligned = 0;
  std::uint64_t failed = 0;
  ExpectNativeResultsShared(
      machine, {{"ranks", ranks}, {"worker", Steps("180MiB", 40, 20)}}, [&](const json& status) {
        for (const json& client : status["clients"]) {
          aligned = std::max(aligned, client["aligned_drains"].get<std::uint64_t>());
          failed = std::max(failed, client["failed_drains"].get<std::uint64_t>());
        }
      });
  EXPECT_GT(aligned, 0u);
  EXPECT_LT(failed, aligned);
}

INSTANTIATE_TEST_SUITE_P(ByKernelAndByValue, RanksTest, ::testing::Values("0", "1"));

TEST(SharingTest, TwoGpusWithPeerCopies) {
  Machine::Options options = ShortSlices();
  options.devices = 2;
  Machine machine(options);
  ExpectNativeResultsShared(machine, {{"multi_gpu", Steps("160MiB", 15, 10, 1)},
                                      {"multi_gpu", Steps("160MiB", 15, 10, 2)}});
}

// Each instance has a size and a budget of its own; the programs fit neither of them together.
TEST(SharingTest, MigInstancesAreSeparateGpus) {
  Machine::Options options = ShortSlices();
  options.environment = {{"FAKECUDA_MIG", "96MiB,160MiB"}};
  Machine machine(options);
  const json status = ExpectNativeResultsShared(
      machine,
      {{"multi_gpu", Steps("60MiB", 15, 10, 1)}, {"multi_gpu", Steps("60MiB", 15, 10, 2)}});
  ASSERT_EQ(status["gpus"].size(), 2u);
  EXPECT_EQ(status["gpus"][0]["total"], 96 * kMiB);
  EXPECT_EQ(status["gpus"][1]["total"], 160 * kMiB);
  EXPECT_LT(status["gpus"][0]["budget"], 96 * kMiB);
  EXPECT_GT(status["gpus"][1]["budget"], 96 * kMiB);
}

TEST(SharingTest, ThirtyTwoConcurrentPrograms) {
  Machine::Options options = ShortSlices();
  options.memory = "512MiB";
  Machine machine(options);
  std::vector<Program> runs;
  for (int i = 0; i < 32; ++i) runs.push_back({"worker", Steps("48MiB", 3, 5, i + 1)});
  ExpectNativeResultsShared(machine, runs);
}

TEST(SharingTest, MissingDaemonCausesOneWarning) {
  Machine machine;
  const ProcessResult native = machine.RunNative("worker", Steps("60MiB", 10, 1));
  Process process = machine.Start("worker", Steps("60MiB", 10, 1));
  const auto ended = process.Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 0);
  EXPECT_EQ(ended->Field("hash"), native.Field("hash"));
  EXPECT_EQ(std::count(ended->error_output.begin(), ended->error_output.end(), '\n'), 1)
      << ended->error_output;
}

// A program that was given a share of a card never runs beside the others.
TEST(SharingTest, AProgramThatRequiresADaemonWaitsForIt) {
  Machine machine;
  const ProcessResult native = machine.RunNative("worker", Steps("60MiB", 10, 1));
  Process process =
      machine.Start("worker", Steps("60MiB", 10, 1), {{"REVEZA_REQUIRE_DAEMON", "1"}});
  const std::string notice = "cannot reach the daemon at " + machine.socket() +
                             " (No such file or directory): this program waits for it";
  while (process.Running() && process.ErrorOutput().find(notice) == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(process.Running()) << process.ErrorOutput();
  EXPECT_TRUE(machine.GpuIsEmpty());
  machine.StartDaemon();
  const auto ended = process.Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 0) << ended->error_output;
  EXPECT_EQ(ended->Field("hash"), native.Field("hash"));
  EXPECT_NE(ended->error_output.find("the GPU is shared again"), std::string::npos)
      << ended->error_output;
}

// Answers one client as a daemon of the next protocol version does.
void RefuseAsNextVersion(int listener) {
  const UniqueFd client(accept(listener, nullptr, nullptr));
  char packet[wire::kMaxPacket];
  if (recv(client.get(), packet, sizeof packet, 0) <= 0) return;
  wire::Refused refused{};
  refused.reason = wire::RefusedReason::kWrongVersion;
  refused.version = wire::kVersion + 1;
  const std::size_t size = wire::Encode(refused, packet);
  packet[4] = wire::kVersion + 1;
  send(client.get(), packet, size, MSG_NOSIGNAL);
}

// Listens on the machine's socket, as a daemon of the next protocol version.
class NextVersion {
 public:
  explicit NextVersion(const Machine& machine)
      : listener_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    EXPECT_LT(machine.socket().size(), sizeof address.sun_path);
    machine.socket().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 8), 0);
    daemon_ = std::thread(RefuseAsNextVersion, listener_.get());
  }
  ~NextVersion() { daemon_.join(); }
  NextVersion(const NextVersion&) = delete;
  NextVersion& operator=(const NextVersion&) = delete;

 private:
  UniqueFd listener_;
  std::thread daemon_;
};

TEST(SharingTest, DaemonOfAnotherVersionIsNamedOnce) {
  Machine machine;
  const ProcessResult native = machine.RunNative("worker", Steps("60MiB", 10, 1));
  const NextVersion daemon(machine);
  Process process = machine.Start("worker", Steps("60MiB", 10, 1));
  const auto ended = process.Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 0);
  EXPECT_EQ(ended->Field("hash"), native.Field("hash"));
  EXPECT_EQ(std::count(ended->error_output.begin(), ended->error_output.end(), '\n'), 1)
      << ended->error_output;
  const std::string next = "version " + std::to_string(wire::kVersion + 1);
  const std::string own = "version " + std::to_string(wire::kVersion);
  EXPECT_NE(ended->error_output.find(next), std::string::npos) << ended->error_output;
  EXPECT_NE(ended->error_output.find(own), std::string::npos) << ended->error_output;
}

TEST(SharingTest, DaemonOfAnotherVersionIsNoDaemonWhereOneIsRequired) {
  Machine machine;
  const NextVersion daemon(machine);
  Process process =
      machine.Start("worker", Steps("60MiB", 10, 1), {{"REVEZA_REQUIRE_DAEMON", "1"}});
  const auto ended = process.Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 1) << ended->error_output;
  EXPECT_NE(ended->error_output.find("may not use the GPU without a daemon"), std::string::npos)
      << ended->error_output;
}

TEST(SharingTest, DisableVariableBypassesLibrary) {
  Machine machine;
  machine.StartDaemon();
  Process process = machine.Start("worker", Steps("60MiB", 5, 1), {{"REVEZA_DISABLE", "1"}});
  const auto ended = process.Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 0);
  EXPECT_EQ(ended->error_output, "");
  EXPECT_TRUE(machine.Status()["clients"].empty());
}

}  // namespace sharing_test
}  // namespace reveza::testing
