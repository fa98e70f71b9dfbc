// Allocates, writes, checks and frees memory in a loop, in sizes from a word to a quarter of
// --bytes. Memory must keep its contents until it is freed.
#include <algorithm>
#include <vector>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

int Main(const Options& options) {
  Session session(options);
  StepRun run(options);
  struct Block {
    CUdeviceptr memory;
    std::uint64_t bytes;
    std::uint32_t value;
  };
  std::vector<Block> blocks;
  std::uint64_t held = 0, wrong = 0, allocations = 0, random = options.seed;
  const auto free_oldest = [&] {
    const Block block = blocks.front();
    blocks.erase(blocks.begin());
    wrong += session.Mismatches(block.memory, block.bytes, block.value);
    session.Free(block.memory);
    held -= block.bytes;
  };
  std::uint64_t hash = 0;
  while (run.Next()) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const int shift = static_cast<int>(random >> 33) % 16;
    const std::uint64_t bytes = std::max<std::uint64_t>(4, (options.bytes / 4 >> shift) / 4 * 4);
    while (!blocks.empty() && held + bytes > options.bytes) free_oldest();
    const auto value = static_cast<std::uint32_t>(random >> 17);
    blocks.push_back({session.Allocate(bytes), bytes, value});
    session.Fill(blocks.back().memory, bytes, value);
    held += bytes;
    ++allocations;
    hash = Combine(hash, bytes ^ value);
    if (options.step_ms > 0) session.Spin(options.step_ms);
  }
  while (!blocks.empty()) free_oldest();
  if (wrong > 0) Die(std::to_string(wrong) + " words differ from what was written");
  run.Count("allocations", allocations);
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(argc, argv, "alloc_loop"));
}
