// Allocates and frees stream-ordered memory.
#include <vector>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

int Main(const Options& options) {
  Session session(options);
  StepRun run(options);
  const Driver& driver = session.driver();
  CUstream streams[2];
  for (CUstream& stream : streams) {
    REVEZA_CHECK(driver, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  // Half stays allocated; the rest is allocated and freed in eight parts.
  const std::uint64_t kept_bytes = options.bytes / 2 / 16 * 16;
  const std::uint64_t part = options.bytes / 16 / 16 * 16;
  CUdeviceptr kept = 0;
  REVEZA_CHECK(driver, cuMemAllocAsync(&kept, kept_bytes, streams[0]));
  session.Fill(kept, kept_bytes, options.seed, streams[0]);
  std::uint64_t allocations = 1;
  while (run.Next()) {
    session.Step(kept, kept_bytes, options.seed, streams[0]);
    for (std::uint64_t i = 0; i < 8; ++i) {
      const CUstream stream = streams[0];
      CUdeviceptr passing = 0;
      REVEZA_CHECK(driver, cuMemAllocAsync(&passing, part, stream));
      session.Copy(passing, kept + i % 8 * part, part, stream);
      session.Add(passing, part, static_cast<std::uint32_t>(i), stream);
      session.Copy(kept + (i + 1) % 8 * part, passing, part, stream);
      REVEZA_CHECK(driver, cuMemFreeAsync(passing, stream));
      // Memory allocated on another stream at the same time must not overlap.
      CUdeviceptr other = 0;
      REVEZA_CHECK(driver, cuMemAllocAsync(&other, part, streams[1]));
      session.Fill(other, part, static_cast<std::uint32_t>(run.step()), streams[1]);
      REVEZA_CHECK(driver, cuMemFreeAsync(other, streams[1]));
      allocations += 2;
    }
    if (options.step_ms > 0) session.Spin(options.step_ms, streams[0]);
    if (run.step() % 4 == 0) session.Synchronize();
  }
  const std::uint64_t hash = session.Hash(kept, kept_bytes, streams[0]);
  REVEZA_CHECK(driver, cuMemFreeAsync(kept, streams[0]));
  session.Synchronize();
  for (const CUstream stream : streams) REVEZA_CHECK(driver, cuStreamDestroy(stream));
  run.Count("allocations", allocations);
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(argc, argv, "pools"));
}
