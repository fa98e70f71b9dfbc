// An inference server: reads weights that never change (--zeros 1: zeros), and writes a little
// (2 MiB of --bytes) in each request. Pauses between requests (--pause-ms).
#include <cstdio>
#include <vector>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

constexpr std::uint64_t kGranularity = 2ull << 20;
constexpr std::uint64_t kActivations = kGranularity;
constexpr std::uint64_t kBlocks = 4;

int Main(const Options& options) {
  if (options.bytes < kActivations + kBlocks * kGranularity) {
    std::fprintf(stderr, "server: --bytes must be at least 10MiB\n");
    return 2;
  }
  Session session(options);
  StepRun run(options);
  std::vector<CUdeviceptr> weights;
  const std::uint64_t bytes =
      (options.bytes - kActivations) / kBlocks / kGranularity * kGranularity;
  for (std::uint32_t i = 0; i < kBlocks; ++i) {
    weights.push_back(session.Allocate(bytes));
    session.Fill(weights.back(), bytes, options.Extra("zeros") != 0 ? 0 : options.seed + i);
  }
  const CUdeviceptr activations = session.Allocate(kActivations);
  session.Fill(activations, kActivations, options.seed);
  std::uint64_t hash = 0;
  while (run.Next()) {
    session.Step(activations, kActivations, options.seed);
    if (options.step_ms > 0) session.Spin(options.step_ms);
    const std::uint64_t block = run.step() % kBlocks;
    hash = Combine(hash, session.Hash(weights[block], bytes));
    if (options.Extra("pause-ms") > 0) SleepMilliseconds(options.Extra("pause-ms"));
  }
  hash = Combine(hash, session.Hash(activations, kActivations));
  for (const CUdeviceptr block : weights) session.Free(block);
  session.Free(activations);
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(
      reveza::clients::OptionsOrExit(argc, argv, "server", {{"pause-ms", 0}, {"zeros", 0}}));
}
