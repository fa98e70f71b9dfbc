#include "reveza/cli/demo_worker/client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace reveza::clients {
namespace client_test {

std::string Parse(std::vector<std::string> arguments, Options* options) {
  std::vector<char*> argv{const_cast<char*>("program")};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return ParseOptions(static_cast<int>(argv.size()), argv.data(), options);
}

TEST(ParseBytes, ReadsPlainNumbersAndUnits) {
  std::uint64_t bytes = 0;
  ASSERT_TRUE(ParseBytes("4096", &bytes));
  EXPECT_EQ(bytes, 4096u);
  ASSERT_TRUE(ParseBytes("3KiB", &bytes));
  EXPECT_EQ(bytes, 3u << 10);
  ASSERT_TRUE(ParseBytes("64MiB", &bytes));
  EXPECT_EQ(bytes, 64u << 20);
  ASSERT_TRUE(ParseBytes("1.5GiB", &bytes));
  EXPECT_EQ(bytes, 3ull << 29);
}

TEST(ParseBytes, RefusesWhatIsNoSize) {
  std::uint64_t bytes = 0;
  for (const char* text : {"", "MiB", "-1", "-1MiB", "1GB", "12 MiB", "1e400GiB", "x4"}) {
    EXPECT_FALSE(ParseBytes(text, &bytes)) << text;
  }
}

TEST(ParseOptions, ReadsEveryCommonOption) {
  Options options;
  ASSERT_EQ(Parse({"--bytes", "1MiB", "--steps", "7", "--seconds", "2.5", "--seed", "9",
                   "--step-ms", "3", "--name", "x", "--json", "--resolve", "dlsym"},
                  &options),
            "");
  EXPECT_EQ(options.bytes, 1u << 20);
  EXPECT_EQ(options.steps, 7u);
  EXPECT_EQ(options.seconds, 2.5);
  EXPECT_EQ(options.seed, 9u);
  EXPECT_EQ(options.step_ms, 3u);
  EXPECT_EQ(options.name, "x");
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.resolve, Resolve::kDlsym);
}

TEST(WaitForOthers, WaitsForTheLockAndSaysThatItIsReady) {
  WaitForOthers();  // no benchmark: returns
  std::string folder = "/tmp/reveza-start-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string gate_path = folder + "/gate";
  const int gate = open(gate_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(gate, LOCK_EX), 0);
  const std::string ready_path = folder + "/ready";
  setenv("BENCH_READY", ready_path.c_str(), 1);
  setenv("BENCH_GATE", gate_path.c_str(), 1);
  std::atomic<bool> opened{false};
  std::atomic<bool> passed_early{false};
  std::thread program([&] {
    WaitForOthers();
    passed_early = !opened;
  });
  while (access(ready_path.c_str(), F_OK) != 0) std::this_thread::yield();
  opened = true;
  close(gate);
  program.join();
  unsetenv("BENCH_READY");
  unsetenv("BENCH_GATE");
  EXPECT_FALSE(passed_early);
  std::filesystem::remove_all(folder);
}

TEST(ParseOptions, KnowsAProgramsOwnOptionsOnly) {
  Options options;
  options.extra = {{"burst", 5}};
  ASSERT_EQ(Parse({"--burst", "8"}, &options), "");
  EXPECT_EQ(options.Extra("burst"), 8u);
  EXPECT_NE(Parse({"--pause", "8"}, &options), "");
}

TEST(ParseOptions, NamesWhatItDoesNotUnderstand) {
  Options options;
  EXPECT_NE(Parse({"--bytes", "many"}, &options).find("--bytes many"), std::string::npos);
  EXPECT_NE(Parse({"bytes"}, &options).find("bytes"), std::string::npos);
  EXPECT_NE(Parse({"--steps"}, &options), "");
  EXPECT_NE(Parse({"--name", "a\"b"}, &options), "");
  EXPECT_NE(Parse({"--resolve", "magic"}, &options), "");
}

TEST(Combine, DependsOnOrderAndOnEveryBit) {
  EXPECT_NE(Combine(Combine(0, 1), 2), Combine(Combine(0, 2), 1));
  std::set<std::uint64_t> seen;
  for (int bit = 0; bit < 64; ++bit) seen.insert(Combine(5, 1ull << bit));
  EXPECT_EQ(seen.size(), 64u);
}

TEST(HashOfBytes, SeesOneChangedByte) {
  std::vector<unsigned char> data(1000, 3);
  const std::uint64_t before = HashOfBytes(data.data(), data.size());
  EXPECT_EQ(HashOfBytes(data.data(), data.size()), before);
  data[500] ^= 1;
  EXPECT_NE(HashOfBytes(data.data(), data.size()), before);
}

TEST(StepRun, MakesAsManyStepsAsAsked) {
  Options options;
  options.steps = 3;
  StepRun run(options);
  while (run.Next()) {
  }
  EXPECT_EQ(run.step(), 3u);
  EXPECT_FALSE(run.Next());
}

}  // namespace client_test
}  // namespace reveza::clients
