// reveza-demo-worker: the program of `reveza demo`. Fills a large part of the card and works on
// all of it, step by step, like a training loop. Runs on a real card and on fakecuda alike.
//
// stderr: "step i/N" after each step has run on the GPU. stdout: one line with the result.
#include <cstdio>
#include <vector>

#include "client.h"

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
  while (run.Next()) {
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
  return reveza::clients::Main(reveza::clients::OptionsOrExit(argc, argv, "demo-worker"));
}
