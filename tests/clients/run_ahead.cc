// Submits work without ever waiting, so that the queue grows until the driver blocks.
#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

int Main(const Options& options) {
  Session session(options);
  StepRun run(options);
  const std::uint64_t bytes = options.bytes / 4 * 4;
  const CUdeviceptr memory = session.Allocate(bytes);
  session.Fill(memory, bytes, options.seed);
  const double begin = SecondsNow();
  while (run.Next()) {
    session.Step(memory, bytes, options.seed);
    if (options.step_ms > 0) session.Spin(options.step_ms);
  }
  const double submitted = SecondsNow();
  session.Synchronize();
  const double drained = SecondsNow();
  const std::uint64_t hash = session.Hash(memory, bytes);
  session.Free(memory);
  run.Count("submit_ms", static_cast<std::uint64_t>((submitted - begin) * 1e3));
  run.Count("drain_ms", static_cast<std::uint64_t>((drained - submitted) * 1e3));
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(argc, argv, "run_ahead"));
}
