// Creates contexts and destroys them with memory still allocated; resets and releases the primary
// context.
#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

// Works in a new context and destroys it, with or without freeing its memory first.
std::uint64_t WorkInOwnContext(const Driver& driver, CUdevice device, const Options& options,
                               std::uint32_t seed, bool leave_memory) {
  CUcontext context = nullptr;
  REVEZA_CHECK(driver, cuCtxCreate(&context, nullptr, 0, device));
  std::uint64_t hash = 0;
  {
    const Session session(driver, device, context);
    const std::uint64_t bytes = options.bytes / 2 / 4 * 4;
    const CUdeviceptr memory = session.Allocate(bytes);
    session.Fill(memory, bytes, seed);
    session.Step(memory, bytes, seed);
    if (options.step_ms > 0) session.Spin(options.step_ms);
    hash = session.Hash(memory, bytes);
    if (!leave_memory) session.Free(memory);
  }
  REVEZA_CHECK(driver, cuCtxDestroy(context));
  return hash;
}

std::uint64_t WorkInPrimaryContext(const Driver& driver, CUdevice device, const Options& options,
                                   std::uint32_t seed, bool reset) {
  CUcontext context = nullptr;
  REVEZA_CHECK(driver, cuDevicePrimaryCtxRetain(&context, device));
  REVEZA_CHECK(driver, cuCtxSetCurrent(context));
  std::uint64_t hash = 0;
  {
    const Session session(driver, device, context);
    const std::uint64_t bytes = options.bytes / 4 * 4;
    const CUdeviceptr memory = session.Allocate(bytes);
    session.Fill(memory, bytes, seed);
    session.Step(memory, bytes, seed + 1);
    hash = session.Hash(memory, bytes);
  }
  REVEZA_CHECK(driver, cuCtxSetCurrent(nullptr));
  if (reset) REVEZA_CHECK(driver, cuDevicePrimaryCtxReset(device));
  const CUresult released = driver.cuDevicePrimaryCtxRelease(device);
  // After a reset the driver may report that no context is left to release.
  if (!reset || released != CUDA_ERROR_INVALID_CONTEXT) {
    CheckCall(driver, released, "cuDevicePrimaryCtxRelease", __LINE__);
  }
  return hash;
}

int Main(const Options& options) {
  const Driver driver = Driver::Load(options.resolve);
  REVEZA_CHECK(driver, cuInit(0));
  CUdevice device = 0;
  REVEZA_CHECK(driver, cuDeviceGet(&device, 0));
  StepRun run(options);
  std::uint64_t hash = 0;
  while (run.Next()) {
    const auto seed = static_cast<std::uint32_t>(options.seed + run.step());
    hash = Combine(hash, WorkInOwnContext(driver, device, options, seed, run.step() % 2 == 0));
    if (run.step() % 3 == 0) {
      hash =
          Combine(hash, WorkInPrimaryContext(driver, device, options, seed, run.step() % 2 == 0));
    }
  }
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(argc, argv, "multi_context"));
}
