// Repeatedly holds a stream capture open. Nothing that happens meanwhile may invalidate it.
#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

int Main(const Options& options) {
  Session session(options);
  StepRun run(options);
  const Driver& driver = session.driver();
  CUstream stream = nullptr;
  REVEZA_CHECK(driver, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const std::uint64_t bytes = options.bytes / 4 * 4;
  const CUdeviceptr memory = session.Allocate(bytes);
  session.Fill(memory, bytes, options.seed, stream);
  REVEZA_CHECK(driver, cuStreamSynchronize(stream));
  constexpr int kNodes = 4;
  while (run.Next()) {
    REVEZA_CHECK(driver, cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int node = 0; node < kNodes; ++node) {
      session.Step(memory, bytes, options.seed + static_cast<std::uint32_t>(node), stream);
      SleepMilliseconds(options.Extra("hold-ms") / kNodes);
    }
    CUgraph captured = nullptr;
    REVEZA_CHECK(driver, cuStreamEndCapture(stream, &captured));
    CUgraphExec graph = nullptr;
    REVEZA_CHECK(driver, cuGraphInstantiateWithFlags(&graph, captured, 0));
    REVEZA_CHECK(driver, cuGraphDestroy(captured));
    REVEZA_CHECK(driver, cuGraphLaunch(graph, stream));
    if (options.step_ms > 0) session.Spin(options.step_ms, stream);
    REVEZA_CHECK(driver, cuStreamSynchronize(stream));
    REVEZA_CHECK(driver, cuGraphExecDestroy(graph));
  }
  const std::uint64_t hash = session.Hash(memory, bytes, stream);
  session.Free(memory);
  REVEZA_CHECK(driver, cuStreamDestroy(stream));
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(
      reveza::clients::OptionsOrExit(argc, argv, "capture_slow", {{"hold-ms", 400}}));
}
