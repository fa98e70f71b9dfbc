// Holds --bytes in blocks of --block bytes. Each step works on the last --hot percent of them,
// which were allocated last: changes them, or only reads them (--read 1). --away N: from step N on,
// works on the first blocks instead.
#include <cstdio>
#include <vector>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

int Main(const Options& options) {
  const std::uint64_t block = options.Extra("block") / 4 * 4;
  const std::uint64_t hot_percent = options.Extra("hot");
  if (block == 0 || options.bytes < block || hot_percent > 100) {
    std::fprintf(stderr, "larger: --bytes must be at least --block, and --hot at most 100\n");
    return 2;
  }
  Session session(options);
  StepRun run(options);
  std::vector<CUdeviceptr> blocks(options.bytes / block);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = session.Allocate(block);
    session.Fill(blocks[i], block, options.seed + static_cast<std::uint32_t>(i));
  }
  const std::size_t hot = (blocks.size() * hot_percent + 99) / 100;
  std::uint64_t hash = 0;
  std::vector<double> ends = {SecondsNow()};
  while (run.Next()) {
    const bool away = options.Extra("away") != 0 && run.step() >= options.Extra("away");
    const std::size_t first = away ? 0 : blocks.size() - hot;
    for (std::size_t i = first; i < first + hot; ++i) {
      if (options.Extra("read") != 0) {
        hash = Combine(hash, session.Hash(blocks[i], block));
      } else {
        session.Step(blocks[i], block, options.seed);
      }
    }
    if (options.step_ms > 0) session.Spin(options.step_ms);
    session.Synchronize();
    ends.push_back(SecondsNow());
  }
  // Of the first and the last tenth.
  const std::size_t steps = ends.size() - 1;
  const std::size_t tenth = (steps + 9) / 10;
  if (steps > 0) {
    const double part = 1e6 / static_cast<double>(tenth);
    run.Count("first_step_us", static_cast<std::uint64_t>((ends[tenth] - ends[0]) * part));
    run.Count("last_step_us",
              static_cast<std::uint64_t>((ends[steps] - ends[steps - tenth]) * part));
  }
  for (const CUdeviceptr memory : blocks) hash = Combine(hash, session.Hash(memory, block));
  for (const CUdeviceptr memory : blocks) session.Free(memory);
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(
      argc, argv, "larger", {{"block", 8 << 20}, {"hot", 50}, {"read", 0}, {"away", 0}}));
}
