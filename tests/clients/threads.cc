// Several threads in one context: even ones use their own stream, odd ones their per-thread default
// stream.
#include <thread>
#include <vector>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

std::uint64_t Work(const Session& session, const Options& options, std::uint64_t thread,
                   std::uint64_t bytes) {
  session.MakeCurrent();
  const Driver& driver = session.driver();
  CUstream stream = CU_STREAM_PER_THREAD;
  if (thread % 2 == 0) REVEZA_CHECK(driver, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr memory = session.Allocate(bytes);
  const auto seed = static_cast<std::uint32_t>(options.seed + thread);
  session.Fill(memory, bytes, seed, stream);
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    session.Step(memory, bytes, seed, stream);
    if (options.step_ms > 0) session.Spin(options.step_ms, stream);
    if (step % 8 == 7) {
      // Memory that is allocated for one step only.
      const CUdeviceptr passing = session.Allocate(bytes / 4);
      session.Copy(passing, memory, bytes / 4, stream);
      session.Add(passing, bytes / 4, 1, stream);
      session.Copy(memory, passing, bytes / 4, stream);
      REVEZA_CHECK(driver, cuStreamSynchronize(stream));
      session.Free(passing);
    }
  }
  const std::uint64_t hash = session.Hash(memory, bytes, stream);
  session.Free(memory);
  if (thread % 2 == 0) REVEZA_CHECK(driver, cuStreamDestroy(stream));
  return hash;
}

int Main(const Options& options) {
  Session session(options);
  StepRun run(options);
  const std::uint64_t count = options.Extra("threads");
  const std::uint64_t bytes = options.bytes / count / 16 * 16;
  std::vector<std::uint64_t> hashes(count);
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] { hashes[i] = Work(session, options, i, bytes); });
  }
  for (std::thread& thread : threads) thread.join();
  while (run.Next()) {
  }
  std::uint64_t hash = 0;
  for (const std::uint64_t one : hashes) hash = Combine(hash, one);
  run.Count("threads", count);
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(
      reveza::clients::OptionsOrExit(argc, argv, "threads", {{"threads", 4}}));
}
