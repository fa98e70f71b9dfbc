// Programs with managed memory take turns like others: it leaves the card by prefetches and is back
// before a kernel needs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/base/bytes.h"
#include "tests/support/machine.h"

namespace reveza::testing {
namespace managed_memory_test {

using nlohmann::json;

constexpr Bytes kGranule = 2 * kMiB;

TEST(ManagedMemoryTest, TwoProgramsThatDoNotFitTogetherTakeTurns) {
  Machine::Options options;
  options.daemon_arguments = {"--slice-floor", "50ms", "--slice-ceiling", "50ms"};
  Machine machine(options);
  const std::vector<std::string> arguments = {"--bytes",   "150MiB", "--steps", "40",
                                              "--step-ms", "10",     "--json"};
  const ProcessResult alone = machine.RunNative("managed", arguments);
  ASSERT_EQ(alone.status, 0) << alone.error_output;
  machine.StartDaemon();
  std::vector<Process> processes;
  for (int i = 0; i < 2; ++i) processes.push_back(machine.Start("managed", arguments));
  std::map<int, std::uint64_t> faults;
  std::map<int, std::uint64_t> turns;
  Bytes most_in_use = 0;
  while (std::ranges::any_of(processes, [](Process& one) { return one.Running(); })) {
    for (const json& client : machine.Status().value("clients", json::array())) {
      turns[client.at("pid")] = client.at("turns");
    }
    const json card = machine.CardStatistics();
    for (const json& process : card.value("processes", json::array())) {
      faults[process.at("pid")] = process.at("faults");
    }
    most_in_use = std::max<Bytes>(most_in_use, machine.GpuBytesInUse());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (Process& process : processes) {
    const auto ended = process.Wait();
    EXPECT_EQ(ended->status, 0) << ended->error_output;
    EXPECT_EQ(ended->Field("hash"), alone.Field("hash"));
  }
  EXPECT_LE(most_in_use, 256 * kMiB);
  ASSERT_EQ(turns.size(), 2u);
  for (const auto& [pid, count] : turns) EXPECT_GE(count, 3u);
  // Each page is touched first by a kernel, and is never missing later.
  for (const auto& [pid, count] : faults) EXPECT_LE(count, 150 * kMiB / kGranule);
}

}  // namespace managed_memory_test
}  // namespace reveza::testing
