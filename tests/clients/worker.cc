// Allocates memory in many sizes, processes all of it, frees and reallocates some every few steps
// (--reallocate-every 0: never).
#include <vector>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

struct Block {
  CUdeviceptr memory;
  std::uint64_t bytes;
};

// Returns block sizes: half of the bytes in four large blocks, three eighths in 24 medium blocks,
// the rest in small blocks that share slabs, down to a single word, and one block for the
// remainder.
std::vector<std::uint64_t> Sizes(std::uint64_t bytes, std::uint64_t small_count) {
  std::vector<std::uint64_t> sizes;
  for (int i = 0; i < 4; ++i) sizes.push_back(bytes / 8 / 4 * 4);
  for (int i = 0; i < 24; ++i) sizes.push_back(bytes / 64 / 4 * 4);
  std::uint64_t left = bytes / 8;
  for (std::uint64_t i = 0; i < small_count; ++i) {
    const std::uint64_t wanted = 4 + (i * 2654435761u) % (64 << 10) / 4 * 4;
    if (wanted + 4 > left) break;
    sizes.push_back(wanted);
    left -= wanted;
  }
  sizes.push_back(left / 4 * 4);
  return sizes;
}

int Main(const Options& options) {
  Session session(options);
  StepRun run(options);
  std::vector<Block> blocks;
  std::uint64_t allocations = 0;
  for (const std::uint64_t bytes : Sizes(options.bytes, options.Extra("small"))) {
    if (bytes == 0) continue;
    blocks.push_back({session.Allocate(bytes), bytes});
    session.Fill(blocks.back().memory, bytes, options.seed + static_cast<std::uint32_t>(bytes));
    ++allocations;
  }
  const std::uint64_t reallocate_every = options.Extra("reallocate-every");
  while (run.Next()) {
    for (const Block& block : blocks) session.Step(block.memory, block.bytes, options.seed);
    if (options.step_ms > 0) session.Spin(options.step_ms);
    if (reallocate_every > 0 && run.step() % reallocate_every == 0) {
      // Reallocates every seventh block, starting at a different one each time.
      for (std::size_t i = run.step() % 7; i < blocks.size(); i += 7) {
        session.Free(blocks[i].memory);
        blocks[i].memory = session.Allocate(blocks[i].bytes);
        session.Fill(blocks[i].memory, blocks[i].bytes, static_cast<std::uint32_t>(run.step()));
        ++allocations;
      }
    }
    if (run.step() % 2 == 0) session.Synchronize();
  }
  session.Synchronize();
  std::uint64_t hash = 0;
  for (const Block& block : blocks) {
    hash = Combine(hash, session.Hash(block.memory, block.bytes));
  }
  for (const Block& block : blocks) session.Free(block.memory);
  run.Count("allocations", allocations);
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(
      argc, argv, "worker", {{"small", 100}, {"reallocate-every", 4}}));
}
