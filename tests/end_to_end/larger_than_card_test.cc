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

}  // namespace larger_than_card_test
}  // namespace reveza::testing
