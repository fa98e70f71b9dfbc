// Programs larger than the card, whose memory lies in part on the host: the same results as on a
// card that is large enough, alone and in turns with others.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "tests/support/machine.h"

namespace reveza::testing {
namespace larger_than_card_test {

using nlohmann::json;
using std::chrono::seconds;

const Environment kLarger = {{"REVEZA_LARGER_THAN_CARD", "1"}};

Machine::Options SmallCard(Environment environment = {}) {
  Machine::Options options;
  options.daemon_arguments = {"--slice-floor", "100ms", "--slice-ceiling", "200ms"};
  options.environment = std::move(environment);
  return options;
}

// Runs the program alone on a card that holds all of it.
std::string HashOnLargeCard(const std::string& program, const std::vector<std::string>& arguments) {
  Machine::Options options;
  options.memory = "1GiB";
  Machine machine(options);
  const ProcessResult native = machine.RunNative(program, arguments);
  EXPECT_EQ(native.status, 0) << native.error_output;
  return native.Field("hash");
}

Bytes HostPeak(const Machine& machine) { return machine.CardStatistics()["host"]["peak"]; }
Bytes HostUsed(const Machine& machine) { return machine.CardStatistics()["host"]["used"]; }

void ExpectResult(const std::optional<ProcessResult>& ended, const std::string& hash) {
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 0) << ended->error_output;
  EXPECT_EQ(ended->Field("hash"), hash) << ended->error_output;
}

struct Program {
  const char* name;
  std::vector<std::string> arguments;
};
void PrintTo(const Program& program, std::ostream* out) {
  *out << program.name << " " << program.arguments[1];
}

class ProgramsTest : public ::testing::TestWithParam<Program> {};

TEST_P(ProgramsTest, HaveTheSameResultAsOnALargeCard) {
  const auto& [name, arguments] = GetParam();
  const std::string hash = HashOnLargeCard(name, arguments);
  Machine machine(SmallCard());
  machine.StartDaemon();
  Process process = machine.Start(name, arguments, kLarger);
  ExpectResult(process.Wait(seconds(120)), hash);
  EXPECT_GT(HostPeak(machine), 0u);
  EXPECT_EQ(HostUsed(machine), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, ProgramsTest,
    ::testing::Values(Program{"worker", {"--bytes", "333MiB", "--steps", "6"}},
                      Program{"worker", {"--bytes", "512MiB", "--steps", "4"}},
                      Program{"graph", {"--bytes", "333MiB", "--steps", "6"}},
                      Program{"vmm", {"--bytes", "333MiB", "--steps", "6", "--export", "0"}},
                      Program{"pools", {"--bytes", "333MiB", "--steps", "6"}},
                      Program{"threads", {"--bytes", "333MiB", "--steps", "6"}}));

TEST(LargerThanCardTest, TakesTurnsWithAnotherProgram) {
  const std::vector<std::string> large = {"--bytes", "340MiB", "--steps", "12", "--step-ms", "20"};
  const std::vector<std::string> other = {"--bytes", "180MiB", "--steps", "40", "--step-ms", "20"};
  const std::string large_hash = HashOnLargeCard("worker", large);
  const std::string other_hash = HashOnLargeCard("worker", other);
  Machine machine(SmallCard());
  machine.StartDaemon();
  Process first = machine.Start("worker", large, kLarger);
  Process second = machine.Start("worker", other);
  ExpectResult(first.Wait(seconds(120)), large_hash);
  ExpectResult(second.Wait(seconds(120)), other_hash);
  EXPECT_GT(HostPeak(machine), 0u);
  EXPECT_TRUE(machine.GpuIsEmpty());
  EXPECT_EQ(HostUsed(machine), 0u);
}

TEST(LargerThanCardTest, WithoutTheOptionItIsOutOfMemory) {
  Machine machine(SmallCard());
  machine.StartDaemon();
  Process process = machine.Start("larger", {"--bytes", "320MiB", "--steps", "2"});
  const auto ended = process.Wait(seconds(60));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 1);
  EXPECT_NE(ended->error_output.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos);
  EXPECT_EQ(HostPeak(machine), 0u);
}

// A small card, on which a round takes little of fakecuda's time.
Machine::Options TinyCard(Environment environment = {}) {
  Machine::Options options = SmallCard(std::move(environment));
  options.memory = "48MiB";
  return options;
}

// What the status said last of a program, and the most that it said.
struct Seen {
  json on_host;
  Bytes max_bytes = 0;
};

Seen Watch(const Machine& machine, Process& process) {
  Seen seen;
  while (process.Running()) {
    const json client = ClientOf(machine.Status(), process.pid());
    if (!client.is_object() || !client["on_host"].is_object()) continue;
    const json& on_host = client["on_host"];
    // At its end the program frees its memory.
    if (on_host["bytes"] < seen.max_bytes) continue;
    seen.max_bytes = on_host["bytes"];
    seen.on_host = on_host;
  }
  return seen;
}

TEST(LargerThanCardTest, WhatChangesMovesToTheCardAndStaysThere) {
  const std::vector<std::string> arguments = {"--bytes", "60MiB",   "--block", "2MiB",      "--hot",
                                              "50",      "--steps", "300",     "--step-ms", "10"};
  const std::string hash = HashOnLargeCard("larger", arguments);
  Machine machine(TinyCard());
  machine.StartDaemon();
  Process process = machine.Start("larger", arguments, kLarger);
  const Seen seen = Watch(machine, process);
  ExpectResult(process.Wait(seconds(120)), hash);
  ASSERT_TRUE(seen.on_host.is_object());
  EXPECT_GE(seen.max_bytes, 12 * kMiB);
  EXPECT_EQ(seen.on_host["hot"], 0u) << seen.on_host;
  EXPECT_EQ(seen.on_host["fits"], true);
  EXPECT_GE(seen.on_host["promoted"], seen.max_bytes);
  // Once there, and a few trials, which depend on time; not in each of some hundred rounds.
  EXPECT_LE(seen.on_host["promoted"], 8 * seen.max_bytes);
}

TEST(LargerThanCardTest, WhatDoesNotFitIsToldAndMovesNothing) {
  const std::vector<std::string> arguments = {"--bytes", "60MiB",   "--block", "2MiB",      "--hot",
                                              "100",     "--steps", "200",     "--step-ms", "10"};
  const std::string hash = HashOnLargeCard("larger", arguments);
  Machine machine(TinyCard());
  machine.StartDaemon();
  Process process = machine.Start("larger", arguments, kLarger);
  const Seen seen = Watch(machine, process);
  const auto ended = process.Wait(seconds(120));
  ExpectResult(ended, hash);
  ASSERT_TRUE(seen.on_host.is_object());
  // All but a slab of small allocations.
  EXPECT_GE(seen.on_host["hot"].get<Bytes>() + 2 * kMiB, seen.max_bytes) << seen.on_host;
  EXPECT_GT(seen.on_host["pass_ms"].get<double>(), 0);
  EXPECT_EQ(seen.on_host["fits"], false);
  EXPECT_EQ(seen.on_host["promoted"], 0u);
  EXPECT_EQ(seen.on_host["demoted"], 0u);
  EXPECT_NE(ended->error_output.find("does not fit on the card"), std::string::npos)
      << ended->error_output;
}

// What is on the host is there at every turn: only what is on the card is copied.
TEST(LargerThanCardTest, HandoversLeaveWhatIsOnTheHost) {
  Machine machine(TinyCard({{"REVEZA_FINGERPRINTS", "0"}}));
  machine.StartDaemon();
  Process large = machine.Start(
      "larger", {"--bytes", "60MiB", "--block", "2MiB", "--hot", "10", "--steps", "100000"},
      kLarger);
  Process other =
      machine.Start("larger", {"--bytes", "30MiB", "--block", "2MiB", "--steps", "100000"});
  ASSERT_TRUE(machine.WaitFor([&](const json& status) {
    const json client = ClientOf(status, large.pid());
    return client.is_object() && client["turns"] >= 4 && client["on_host"].is_object();
  })) << machine.Status().dump(1);
  const json client = ClientOf(machine.Status(), large.pid());
  const Bytes on_host = client["on_host"]["bytes"];
  EXPECT_GE(on_host, 12 * kMiB);
  EXPECT_EQ(HostUsed(machine), on_host);
  const json& footprint = client["footprint"];
  const Bytes on_card = footprint["resident"].get<Bytes>() + footprint["swapped"].get<Bytes>();
  EXPECT_GE(on_card + on_host, 60 * kMiB);
  EXPECT_LE(client["copied_out"].get<Bytes>(), client["turns"].get<Bytes>() * on_card);
  // A kill frees both.
  large.Signal(SIGKILL);
  other.Signal(SIGKILL);
  EXPECT_TRUE(machine.GpuIsEmpty());
  EXPECT_EQ(HostUsed(machine), 0u);
}

TEST(LargerThanCardTest, WithoutHostMemoryItIsOutOfMemory) {
  Machine machine(TinyCard({{"FAKECUDA_HOST_MEMORY", "4MiB"}}));
  machine.StartDaemon();
  Process process = machine.Start("larger", {"--bytes", "60MiB", "--block", "2MiB"}, kLarger);
  const auto ended = process.Wait(seconds(60));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 1);
  EXPECT_NE(ended->error_output.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos)
      << ended->error_output;
  EXPECT_LE(HostPeak(machine), 4 * kMiB);
}

class DriversTest : public ::testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(DriversTest, ThatCannotAreNamedOnce) {
  Machine machine(TinyCard({{GetParam().first, GetParam().second}}));
  machine.StartDaemon();
  Process process = machine.Start("larger", {"--bytes", "60MiB", "--block", "2MiB"}, kLarger);
  const auto ended = process.Wait(seconds(60));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status, 1);
  EXPECT_NE(ended->error_output.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos);
  EXPECT_NE(ended->error_output.find("cannot put memory of the host in place of GPU memory"),
            std::string::npos)
      << ended->error_output;
  EXPECT_EQ(HostPeak(machine), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Old, DriversTest,
    ::testing::Values(std::pair<std::string, std::string>{"FAKECUDA_DRIVER", "12.1"},
                      std::pair<std::string, std::string>{"FAKECUDA_HOST_VMM", "0"}));

TEST(LargerThanCardTest, WorksWithTheFirstDriverThatCan) {
  const std::vector<std::string> arguments = {"--bytes", "60MiB", "--block", "2MiB"};
  const std::string hash = HashOnLargeCard("larger", arguments);
  Machine machine(TinyCard({{"FAKECUDA_DRIVER", "12.2"}}));
  machine.StartDaemon();
  Process process = machine.Start("larger", arguments, kLarger);
  ExpectResult(process.Wait(seconds(60)), hash);
  EXPECT_GE(HostPeak(machine), 12 * kMiB);
}

TEST(LargerThanCardTest, WithoutADaemonTheCardIsFilledFirst) {
  const std::vector<std::string> arguments = {"--bytes", "60MiB",   "--block",
                                              "2MiB",    "--steps", "9"};
  const std::string hash = HashOnLargeCard("larger", arguments);
  Machine machine(TinyCard());
  Process process = machine.Start("larger", arguments, kLarger);
  ExpectResult(process.Wait(seconds(100)), hash);
  EXPECT_GE(HostPeak(machine), 12 * kMiB);
  EXPECT_LE(HostPeak(machine), 20 * kMiB);
}

// Captures are not ended by a round, exports bring memory to the card, and forks keep it.
INSTANTIATE_TEST_SUITE_P(
    Beside, ProgramsTest,
    ::testing::Values(Program{"capture_slow", {"--bytes", "300MiB", "--steps", "4"}},
                      Program{"vmm", {"--bytes", "300MiB", "--steps", "4"}},
                      Program{"forker", {"--bytes", "300MiB", "--steps", "4"}}));

}  // namespace larger_than_card_test
}  // namespace reveza::testing
