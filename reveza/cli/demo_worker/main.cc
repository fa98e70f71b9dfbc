// reveza-demo-worker: the program of `reveza demo`. Fills a large part of the card and works on
// all of it, step by step, like a training loop. Runs on a real card and on fakecuda alike.
//
//   --load-every N --load-ms M    before the first step and after each N steps the program waits M
//   ms,
//                                 as for a data loader: the GPU is idle meanwhile
//
// stderr: "step i/N" after each step has run on the GPU. stdout: one line with the result.
#include <cstdio>
#include <vector>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

// Enough allocations that moving them is not a special case, few enough to keep a step cheap.
constexpr std::uint64_t kAllocations = 6;

int Main(const Options& options) {
  Session session(options);
  StepRun run(options);
  struct Block {
    CUdeviceptr memory;
    std::uint64_t bytes;
  };
  std::vector<Block> blocks;
  for (std::uint64_t i = 0; i < kAllocations; ++i) {
    const std::uint64_t bytes = options.bytes / kAllocations / 16 * 16;
    if (bytes == 0) Die("--bytes is too small");
    blocks.push_back({session.Allocate(bytes), bytes});
    session.Fill(blocks.back().memory, bytes, options.seed + static_cast<std::uint32_t>(i));
  }
  const std::uint64_t load_every = options.Extra("load-every");
  while (run.Next()) {
    if (load_every > 0 && (run.step() - 1) % load_every == 0) {
      SleepMilliseconds(options.Extra("load-ms"));
    }
    for (const Block& block : blocks) session.Step(block.memory, block.bytes, options.seed);
    if (options.step_ms > 0) session.Spin(options.step_ms);
    session.Synchronize();
    std::fprintf(stderr, "step %llu/%llu\n", static_cast<unsigned long long>(run.step()),
                 static_cast<unsigned long long>(options.steps));
  }
  std::uint64_t hash = 0;
  for (const Block& block : blocks) {
    hash = Combine(hash, session.Hash(block.memory, block.bytes));
  }
  for (const Block& block : blocks) session.Free(block.memory);
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(argc, argv, "demo-worker",
                                                              {{"load-every", 0}, {"load-ms", 0}}));
}
