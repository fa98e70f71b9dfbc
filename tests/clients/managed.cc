// Holds --bytes of managed memory in blocks of --block bytes. Each step changes all of it in a
// kernel, then one word of each block on the host, without a call of the driver.
#include <cstdio>
#include <vector>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

CUdeviceptr AllocateManaged(const Session& session, std::uint64_t bytes) {
  CUdeviceptr memory = 0;
  REVEZA_CHECK(session.driver(), cuMemAllocManaged(&memory, bytes, CU_MEM_ATTACH_GLOBAL));
  return memory;
}

int Main(const Options& options) {
  const std::uint64_t block = options.Extra("block") / 4 * 4;
  if (block == 0 || options.bytes < block) {
    std::fprintf(stderr, "managed: --bytes must be at least --block\n");
    return 2;
  }
  Session session(options);
  StepRun run(options);
  std::vector<CUdeviceptr> blocks(options.bytes / block);
  for (CUdeviceptr& memory : blocks) {
    memory = AllocateManaged(session, block);
    session.Fill(memory, block, options.seed);
  }
  while (run.Next()) {
    for (const CUdeviceptr memory : blocks) session.Step(memory, block, options.seed);
    if (options.step_ms > 0) session.Spin(options.step_ms);
    session.Synchronize();
    for (const CUdeviceptr memory : blocks) ++*reinterpret_cast<std::uint32_t*>(memory);
  }
  std::uint64_t hash = 0;
  for (const CUdeviceptr memory : blocks) hash = Combine(hash, session.Hash(memory, block));
  for (const CUdeviceptr memory : blocks) session.Free(memory);
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(
      reveza::clients::OptionsOrExit(argc, argv, "managed", {{"block", 30 << 20}}));
}
