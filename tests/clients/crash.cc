// Kills itself with SIGKILL at step --at-step, with queued work and allocated memory.
#include <signal.h>
#include <unistd.h>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

int Main(const Options& options) {
  Session session(options);
  StepRun run(options);
  const std::uint64_t bytes = options.bytes / 4 / 4 * 4;
  CUdeviceptr blocks[4];
  for (CUdeviceptr& block : blocks) {
    block = session.Allocate(bytes);
    session.Fill(block, bytes, options.seed);
  }
  while (run.Next()) {
    for (const CUdeviceptr block : blocks) session.Step(block, bytes, options.seed);
    if (options.step_ms > 0) session.Spin(options.step_ms);
    if (run.step() == options.Extra("at-step")) kill(getpid(), SIGKILL);
  }
  std::uint64_t hash = 0;
  for (const CUdeviceptr block : blocks) hash = Combine(hash, session.Hash(block, bytes));
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(
      reveza::clients::OptionsOrExit(argc, argv, "crash", {{"at-step", 10}}));
}
