// The client programs on fakecuda: each succeeds, and its hash is reproducible and depends on its
// input.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

#include "reveza/cli/demo_worker/client.h"
#include "tests/support/fake_card.h"

namespace reveza::clients {
namespace programs_test {

using reveza::testing::ClientPath;
using reveza::testing::Environment;
using reveza::testing::FakeCard;
using reveza::testing::ProcessResult;

struct Program {
  const char* name;
  std::vector<std::string> arguments;
};

void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

class EveryProgram : public ::testing::TestWithParam<Program> {
 protected:
  static ProcessResult RunWith(const FakeCard& card, std::vector<std::string> more) {
    std::vector<std::string> arguments = GetParam().arguments;
    arguments.insert(arguments.end(), {"--json", "--name", "subject"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return card.Run(ClientPath(GetParam().name), arguments);
  }
};

TEST_P(EveryProgram, HashDependsOnlyOnSeed) {
  const FakeCard card(Environment{{"FAKECUDA_DEVICES", "2"}});
  const ProcessResult first = RunWith(card, {"--seed", "1"});
  ASSERT_EQ(first.status, 0) << first.error_output;
  ASSERT_EQ(first.Field("name"), "subject") << first.output;
  ASSERT_EQ(first.Field("hash").size(), 16u) << first.output;
  const ProcessResult second = RunWith(card, {"--seed", "1"});
  ASSERT_EQ(second.status, 0) << second.error_output;
  EXPECT_EQ(first.Field("hash"), second.Field("hash"));
  const ProcessResult other = RunWith(card, {"--seed", "2"});
  ASSERT_EQ(other.status, 0) << other.error_output;
  EXPECT_NE(first.Field("hash"), other.Field("hash"));
}

INSTANTIATE_TEST_SUITE_P(
    Clients, EveryProgram,
    ::testing::Values(
        Program{"worker", {"--bytes", "24MiB", "--steps", "9", "--small", "20"}},
        Program{"threads", {"--bytes", "16MiB", "--steps", "17", "--threads", "5"}},
        Program{"graph", {"--bytes", "8MiB", "--steps", "12"}},
        Program{"vmm", {"--bytes", "64MiB", "--steps", "9"}},
        Program{"pools", {"--bytes", "16MiB", "--steps", "6"}},
        Program{"pinned_flag", {"--bytes", "8MiB", "--steps", "4", "--hold-ms", "50"}},
        Program{"server", {"--bytes", "16MiB", "--steps", "10"}},
        Program{"run_ahead", {"--bytes", "4MiB", "--steps", "60"}},
        Program{"idle", {"--bytes", "4MiB", "--steps", "6", "--burst", "2", "--pause-ms", "5"}},
        Program{"alloc_loop", {"--bytes", "32MiB", "--steps", "60"}},
        Program{"caching", {"--bytes", "32MiB", "--steps", "12"}},
        Program{"capture_slow", {"--bytes", "4MiB", "--steps", "3", "--hold-ms", "20"}},
        Program{"multi_context", {"--bytes", "8MiB", "--steps", "7"}},
        Program{"forker", {"--bytes", "4MiB", "--steps", "8"}},
        Program{"ipc_pair", {"--bytes", "4MiB", "--steps", "10", "--step-ms", "1"}},
        Program{"ipc_memory", {"--bytes", "8MiB", "--steps", "4"}},
        Program{"ranks", {"--bytes", "4MiB", "--steps", "10", "--step-ms", "1"}},
        Program{"multi_gpu", {"--bytes", "8MiB", "--steps", "6"}},
        Program{"crash", {"--bytes", "8MiB", "--steps", "5"}}),
    [](const auto& about) { return std::string(about.param.name); });

std::string WorkerHash(const std::string& program, std::vector<std::string> more) {
  const FakeCard card;
  std::vector<std::string> arguments{"--bytes", "24MiB", "--steps", "9", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ProcessResult ended = card.Run(ClientPath(program), arguments);
  EXPECT_EQ(ended.status, 0) << ended.error_output;
  return ended.Field("hash");
}

TEST(Worker, HashIsIndependentOfDriverResolution) {
  const std::string hash = WorkerHash("worker", {"--resolve", "proc"});
  EXPECT_EQ(WorkerHash("worker", {"--resolve", "dlsym"}), hash);
  EXPECT_EQ(WorkerHash("worker", {"--resolve", "per-thread"}), hash);
  EXPECT_EQ(WorkerHash("worker_direct", {}), hash);
}

TEST(Worker, FailsWithOutOfMemoryOnSmallGpu) {
  const FakeCard card;
  const ProcessResult ended = card.Run(ClientPath("worker"), {"--bytes", "8GiB"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.error_output.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos)
      << ended.error_output;
  EXPECT_EQ(ended.output, "");
}

TEST(Worker, RejectsUnknownOption) {
  const FakeCard card;
  const ProcessResult ended = card.Run(ClientPath("worker"), {"--byte", "8GiB"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.error_output.find("--byte 8GiB"), std::string::npos) << ended.error_output;
}

TEST(Crash, DiesOfSigkillAtGivenStep) {
  const FakeCard card;
  const ProcessResult ended =
      card.Run(ClientPath("crash"), {"--bytes", "8MiB", "--steps", "9", "--at-step", "5"});
  EXPECT_EQ(ended.status, 128 + SIGKILL);
  EXPECT_EQ(ended.output, "");
  // Its memory is free again: a program that needs most of the GPU runs.
  const ProcessResult next = card.Run(ClientPath("worker"), {"--bytes", "230MiB", "--steps", "1"});
  EXPECT_EQ(next.status, 0) << next.error_output;
}

TEST(MultiGpu, SkipsWithOneDevice) {
  const FakeCard card(Environment{{"FAKECUDA_DEVICES", "1"}});
  EXPECT_EQ(card.Run(ClientPath("multi_gpu"), {}).status, kSkipped);
}

TEST(NeverCuda, LoadsNoDriverOrLibrary) {
  const FakeCard card;
  const ProcessResult ended = card.Run(ClientPath("never_cuda"), {"--json"});
  ASSERT_EQ(ended.status, 0) << ended.error_output;
  EXPECT_EQ(ended.Field("driver_mapped"), "0");
  EXPECT_EQ(ended.Field("library_mapped"), "0");
}

// Computes the arithmetic of the kernels on the host.
std::uint64_t Mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

std::uint64_t ExpectedDemoHash(std::uint64_t bytes, int steps, std::uint32_t seed) {
  std::uint64_t hash = 0;
  for (std::uint32_t block = 0; block < 6; ++block) {
    std::vector<std::uint32_t> words(bytes / 6 / 16 * 16 / 4, seed + block);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (int step = 0; step < steps; ++step) {
        words[i] = words[i] * 1664525u + 1013904223u + (seed ^ static_cast<std::uint32_t>(i));
      }
      sum += Mix((static_cast<std::uint64_t>(i) << 32) | words[i]);
    }
    hash = Combine(hash, sum);
  }
  return hash;
}

TEST(DemoWorker, MatchesHostComputationAndPrintsProgress) {
  const FakeCard card;
  const ProcessResult ended =
      card.Run(REVEZA_DEMO_WORKER,
               {"--bytes", "1MiB", "--steps", "4", "--seed", "3", "--name", "a", "--json"});
  ASSERT_EQ(ended.status, 0) << ended.error_output;
  char expected[17];
  std::snprintf(expected, sizeof expected, "%016llx",
                static_cast<unsigned long long>(ExpectedDemoHash(1 << 20, 4, 3)));
  EXPECT_EQ(ended.Field("hash"), expected);
  EXPECT_EQ(ended.Field("name"), "a");
  EXPECT_EQ(ended.Field("bytes"), "1048576");
  EXPECT_NE(ended.Field("seconds"), "");
  EXPECT_EQ(ended.error_output, "step 1/4\nstep 2/4\nstep 3/4\nstep 4/4\n");
}

}  // namespace programs_test
}  // namespace reveza::clients
