// Alternates short bursts of work with pauses in which other programs could use the GPU.
#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

int Main(const Options& options) {
  Session session(options);
  StepRun run(options);
  const std::uint64_t bytes = options.bytes / 4 * 4;
  const CUdeviceptr memory = session.Allocate(bytes);
  session.Fill(memory, bytes, options.seed);
  std::uint64_t pauses = 0;
  while (run.Next()) {
    session.Step(memory, bytes, options.seed);
    if (options.step_ms > 0) session.Spin(options.step_ms);
    if (run.step() % options.Extra("burst") == 0) {
      session.Synchronize();
      SleepMilliseconds(options.Extra("pause-ms"));
      ++pauses;
    }
  }
  const std::uint64_t hash = session.Hash(memory, bytes);
  session.Free(memory);
  run.Count("pauses", pauses);
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  const auto options =
      reveza::clients::OptionsOrExit(argc, argv, "idle", {{"burst", 5}, {"pause-ms", 100}});
  if (options.Extra("burst") == 0) reveza::clients::Die("--burst must be 1 or more");
  return reveza::clients::Main(options);
}
