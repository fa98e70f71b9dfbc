// Works on two devices in one process and copies between them. Exits with 77 if there is only one.
#include <cstdio>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

int Main(const Options& options) {
  const Driver driver = Driver::Load(options.resolve);
  REVEZA_CHECK(driver, cuInit(0));
  int devices = 0;
  REVEZA_CHECK(driver, cuDeviceGetCount(&devices));
  if (devices < 2) {
    std::fprintf(stderr, "multi_gpu: needs two devices\n");
    return kSkipped;
  }
  Session first(options, 0), second(options, 1);
  StepRun run(options);
  const std::uint64_t bytes = options.bytes / 4 * 4;
  first.MakeCurrent();
  const CUdeviceptr here = first.Allocate(bytes);
  int peers = 0;
  REVEZA_CHECK(driver, cuDeviceCanAccessPeer(&peers, first.device(), second.device()));
  if (peers != 0) REVEZA_CHECK(driver, cuCtxEnablePeerAccess(second.context(), 0));
  first.Fill(here, bytes, options.seed);
  first.Synchronize();
  second.MakeCurrent();
  const CUdeviceptr there = second.Allocate(bytes);
  second.Fill(there, bytes, options.seed + 1);
  second.Synchronize();
  std::uint64_t peer_reads = 0;
  while (run.Next()) {
    first.MakeCurrent();
    first.Step(here, bytes, options.seed);
    if (options.step_ms > 0) first.Spin(options.step_ms);
    REVEZA_CHECK(driver, cuMemcpyPeerAsync(there, second.context(), here, first.context(),
                                           bytes / 2, nullptr));
    first.Synchronize();
    second.MakeCurrent();
    second.Step(there, bytes, options.seed);
    second.Synchronize();
    if (peers != 0 && run.step() % 2 == 0) {
      // The first device's kernel reads the second's memory.
      first.MakeCurrent();
      first.Copy(here + bytes / 2 / 16 * 16, there, bytes / 4 / 4 * 4);
      first.Synchronize();
      ++peer_reads;
    } else if (run.step() % 2 == 0) {
      REVEZA_CHECK(driver, cuMemcpyPeerAsync(here + bytes / 2 / 16 * 16, first.context(), there,
                                             second.context(), bytes / 4 / 4 * 4, nullptr));
      second.Synchronize();
    }
  }
  first.MakeCurrent();
  std::uint64_t hash = first.Hash(here, bytes);
  first.Free(here);
  second.MakeCurrent();
  hash = Combine(hash, second.Hash(there, bytes));
  second.Free(there);
  run.Count("peer_reads", peer_reads);
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(argc, argv, "multi_gpu"));
}
