// Runs a kernel that ends only when the host sets a flag, so the queue cannot drain until then.
// Afterwards does ordinary work, whose result is checked.
#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

int Main(const Options& options) {
  Session session(options);
  StepRun run(options);
  const Driver& driver = session.driver();
  void* flag = nullptr;
  REVEZA_CHECK(driver, cuMemHostAlloc(&flag, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  auto* until = static_cast<volatile std::uint32_t*>(flag);
  *until = 0;
  CUdeviceptr flag_on_device = 0;
  REVEZA_CHECK(driver, cuMemHostGetDevicePointer(&flag_on_device, flag, 0));
  const std::uint64_t bytes = options.bytes / 2 / 4 * 4;
  const CUdeviceptr written = session.Allocate(bytes);
  const CUdeviceptr worked = session.Allocate(bytes);
  session.Fill(written, bytes, 0);
  session.Fill(worked, bytes, options.seed);
  session.Synchronize();
  session.WriteUntil(written, bytes, flag_on_device);
  SleepMilliseconds(options.Extra("hold-ms"));
  *until = 1;
  session.Synchronize();
  while (run.Next()) {
    session.Step(worked, bytes, options.seed);
    if (options.step_ms > 0) session.Spin(options.step_ms);
  }
  const std::uint64_t hash = session.Hash(worked, bytes);
  session.Free(written);
  session.Free(worked);
  REVEZA_CHECK(driver, cuMemFreeHost(flag));
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(
      reveza::clients::OptionsOrExit(argc, argv, "pinned_flag", {{"hold-ms", 3000}}));
}
