// Programs share a GPU with the same results under older drivers: what each lacks is found out at
// run time. docs/limits.md says what that is.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "common/base/bytes.h"
#include "tests/support/machine.h"

namespace reveza::testing {
namespace old_drivers_test {

using nlohmann::json;

// The drivers 470, 520, 525, 550, 570 and 580.
constexpr const char* kVersions[] = {"11.4", "11.8", "12.0", "12.4", "12.8", "13.0"};

struct Program {
  std::string name;
  std::vector<std::string> arguments;
};

std::vector<std::string> Steps(const std::string& bytes, int steps) {
  return {"--bytes", bytes, "--steps", std::to_string(steps), "--step-ms", "5"};
}

Machine::Options Options(Environment environment) {
  Machine::Options options;
  options.daemon_arguments = {"--slice-floor", "50ms", "--slice-ceiling", "100ms"};
  options.environment = std::move(environment);
  return options;
}

class OldDriversTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Runs the programs together, which do not fit on the card; expects of each what it computes
  // alone. Returns the standard error of all.
  std::string ExpectNativeResults(const std::vector<Program>& programs, Environment more = {}) {
    more["FAKECUDA_DRIVER"] = GetParam();
    Machine machine(Options(more));
    std::vector<std::string> alone;
    for (const Program& program : programs) {
      const ProcessResult ended = machine.RunNative(program.name, program.arguments);
      EXPECT_EQ(ended.status, 0) << program.name << ": " << ended.error_output;
      alone.push_back(ended.Field("hash"));
    }
    machine.StartDaemon();
    std::vector<Process> processes;
    for (const Program& program : programs) {
      processes.push_back(machine.Start(program.name, program.arguments));
    }
    std::string errors;
    while (std::ranges::any_of(processes, [](Process& one) { return one.Running(); })) {
      const json status = machine.Status();
      if (status.is_object() && !status["gpus"].empty()) status_ = status;
      for (const json& client : status.value("clients", json::array())) {
        drains_ =
            std::max(drains_, client.value("failed_drains", 0) + client.value("aligned_drains", 0));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const auto ended = processes[i].Wait();
      EXPECT_EQ(ended->status, 0) << programs[i].name << ": " << ended->error_output;
      EXPECT_EQ(ended->Field("hash"), alone[i]) << programs[i].name;
      errors += ended->error_output;
    }
    EXPECT_TRUE(machine.GpuIsEmpty());
    return errors;
  }

  std::uint64_t HandedOver() const {
    return status_["gpus"][0]["handover"]["bytes_out"].get<std::uint64_t>();
  }

  json status_;     // the last one
  int drains_ = 0;  // of a job whose clients wait for each other, the most
};

// Copies, kernels, streams of several threads, graphs, pools, and memory that the program maps and
// exports itself.
TEST_P(OldDriversTest, MemoryAndSubmissionsOfAllKindsSurviveHandovers) {
  EXPECT_EQ(ExpectNativeResults({{"threads", Steps("150MiB", 15)},
                                 {"graph", Steps("150MiB", 15)},
                                 {"pools", Steps("30MiB", 15)},
                                 {"vmm", Steps("130MiB", 10)}}),
            "");
  EXPECT_GT(HandedOver(), 0u);
}

// And processes of a job synchronize through IPC events.
TEST_P(OldDriversTest, LongCapturesStayValid) {
  std::vector<std::string> captures = Steps("150MiB", 3);
  captures.insert(captures.end(), {"--hold-ms", "100"});
  EXPECT_EQ(ExpectNativeResults({{"capture_slow", captures},
                                 {"ipc_pair", Steps("60MiB", 10)},
                                 {"worker", Steps("180MiB", 40)}}),
            "");
  EXPECT_GT(HandedOver(), 0u);
}

// A rank that waits for its peer at its gate is not drained, and says so in time.
TEST_P(OldDriversTest, DrainsEndAtTheirLimit) {
  EXPECT_EQ(ExpectNativeResults({{"ranks", Steps("90MiB", 150)}, {"worker", Steps("180MiB", 60)}}),
            "");
  // Some drains succeed at once, others never.
  EXPECT_TRUE(HandedOver() > 0 || drains_ > 0);
}

// A program loads its own module first. A driver older than the compiler of the kernel of
// fingerprints may refuse that; then all memory is copied.
TEST_P(OldDriversTest, MemoryIsCopiedWithoutTheKernelOfFingerprints) {
  EXPECT_EQ(ExpectNativeResults({{"server", Steps("150MiB", 20)}, {"server", Steps("150MiB", 20)}},
                                {{"FAKECUDA_FAIL", "cuModuleLoadData:2:222"}}),
            "");
  EXPECT_GT(HandedOver(), 0u);
}

// What does not change is found by its fingerprint, and compared.
TEST_P(OldDriversTest, FingerprintsAreThoseOfTheMemory) {
  EXPECT_EQ(ExpectNativeResults({{"server", Steps("150MiB", 20)}, {"server", Steps("150MiB", 20)}},
                                {{"REVEZA_VERIFY", "1"}}),
            "");
}

INSTANTIATE_TEST_SUITE_P(Versions, OldDriversTest, ::testing::ValuesIn(kVersions));

// The programs fit beside each other: nothing can move.
TEST(NoVirtualMemoryTest, MemoryStaysAndANoticeSaysSo) {
  Machine machine(Options({{"FAKECUDA_VMM", "0"}}));
  const ProcessResult alone = machine.RunNative("worker", Steps("100MiB", 10));
  ASSERT_EQ(alone.status, 0) << alone.error_output;
  machine.StartDaemon();
  std::vector<Process> processes;
  for (int i = 0; i < 2; ++i) processes.push_back(machine.Start("worker", Steps("100MiB", 10)));
  for (Process& process : processes) {
    const auto ended = process.Wait();
    EXPECT_EQ(ended->status, 0);
    EXPECT_EQ(ended->Field("hash"), alone.Field("hash"));
    EXPECT_EQ(ended->error_output,
              "reveza: GPU 0 has no virtual memory management: this program keeps its GPU memory, "
              "as with --resident\n");
  }
  EXPECT_TRUE(machine.GpuIsEmpty());
}

}  // namespace old_drivers_test
}  // namespace reveza::testing
