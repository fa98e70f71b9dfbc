// Memory that does not change is copied out once, however often its program leaves the card; and
// what changes is never taken for unchanged, by whatever path it is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/base/bytes.h"
#include "tests/support/machine.h"

namespace reveza::testing {
namespace unchanged_memory_test {

using nlohmann::json;

Machine::Options ShortSlices() {
  Machine::Options options;
  options.daemon_arguments = {"--slice-floor", "50ms", "--slice-ceiling", "50ms"};
  return options;
}

struct Moved {
  Bytes out = 0;
  std::uint64_t turns = 0;  // the fewest of a program
};

// Runs copies of a program that do not fit together, and expects the result of each to be that of
// the program alone.
Moved RunTogether(const std::string& program, const std::vector<std::string>& arguments, int copies,
                  const std::map<std::string, std::string>& environment) {
  Machine machine(ShortSlices());
  const ProcessResult alone = machine.RunNative(program, arguments);
  EXPECT_EQ(alone.status, 0) << alone.error_output;
  machine.StartDaemon();
  std::vector<Process> processes;
  for (int i = 0; i < copies; ++i) {
    processes.push_back(machine.Start(program, arguments, environment));
  }
  std::map<int, Bytes> out;
  std::map<int, std::uint64_t> turns;
  while (std::ranges::any_of(processes, [](Process& one) { return one.Running(); })) {
    const json status = machine.Status();
    for (const json& client : status.value("clients", json::array())) {
      out[client.at("pid")] = client.at("copied_out");
      turns[client.at("pid")] = client.at("turns");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (Process& process : processes) {
    const auto ended = process.Wait();
    EXPECT_EQ(ended->status, 0) << ended->error_output;
    EXPECT_EQ(ended->Field("hash"), alone.Field("hash"));
  }
  Moved moved{.out = 0, .turns = ~std::uint64_t{0}};
  for (const auto& [pid, bytes] : out) moved.out += bytes;
  for (const auto& [pid, count] : turns) moved.turns = std::min(moved.turns, count);
  return moved;
}

TEST(UnchangedMemoryTest, ServersCopyTheirWeightsOutOnce) {
  constexpr int kServers = 3;
  const std::vector<std::string> server = {"--bytes",   "180MiB", "--steps", "24",
                                           "--step-ms", "10",     "--json"};
  const Moved moved = RunTogether("server", server, kServers, {{"REVEZA_VERIFY", "1"}});
  EXPECT_GE(moved.turns, 4u);
  // The weights once, and in each turn the piece of the activations and the slab.
  EXPECT_LE(moved.out, kServers * (180 * kMiB + (moved.turns + 2) * 8 * kMiB));
  const Moved copied = RunTogether("server", server, kServers, {{"REVEZA_FINGERPRINTS", "0"}});
  EXPECT_GE(copied.turns, 4u);
  EXPECT_GE(copied.out, 2 * moved.out);
}

TEST(UnchangedMemoryTest, ZerosAreNeverCopied) {
  const std::vector<std::string> server = {"--bytes", "180MiB",    "--steps", "24",    "--zeros",
                                           "1",       "--step-ms", "10",      "--json"};
  const Moved moved = RunTogether("server", server, 3, {{"REVEZA_VERIFY", "1"}});
  EXPECT_GE(moved.turns, 4u);
  EXPECT_LE(moved.out, 3 * (moved.turns + 2) * 8 * kMiB);
}

struct Writer {
  const char* program;
  std::vector<std::string> arguments;
};
void PrintTo(const Writer& writer, std::ostream* out) { *out << writer.program; }

class WritersTest : public ::testing::TestWithParam<Writer> {};

// Kernels, copies, memsets, graphs, mappings and small allocations; the comparison of every piece
// that is not copied would end the program.
TEST_P(WritersTest, AreNeverTakenForUnchanged) {
  std::vector<std::string> arguments = GetParam().arguments;
  arguments.insert(arguments.end(), {"--step-ms", "10", "--json"});
  const Moved moved = RunTogether(GetParam().program, arguments, 2, {{"REVEZA_VERIFY", "1"}});
  EXPECT_GT(moved.out, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, WritersTest,
    ::testing::Values(Writer{"worker", {"--bytes", "150MiB", "--steps", "30"}},
                      Writer{"graph", {"--bytes", "200MiB", "--steps", "30"}},
                      Writer{"vmm", {"--bytes", "130MiB", "--steps", "30", "--export", "0"}},
                      Writer{"threads", {"--bytes", "150MiB", "--steps", "30"}}));

}  // namespace unchanged_memory_test
}  // namespace reveza::testing
