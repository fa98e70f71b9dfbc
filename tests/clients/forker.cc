// Forks while it works. A child cannot use CUDA, but must be able to _exit, exit or exec without
// affecting the parent.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

enum class Child : std::uint64_t { kUnderscoreExit, kExit, kExec, kCallCuda };

void ForkAndWait(const Session& session, Child kind) {
  const pid_t child = fork();
  if (child < 0) Die("cannot fork");
  if (child == 0) {
    switch (kind) {
      case Child::kUnderscoreExit:
        _exit(0);
      case Child::kExit:
        std::exit(0);
      case Child::kExec:
        execl("/bin/true", "true", static_cast<char*>(nullptr));
        _exit(1);
      case Child::kCallCuda:
        // Must return an error, and neither hang nor crash.
        _exit(session.driver().cuCtxSynchronize() == CUDA_SUCCESS ? 1 : 0);
    }
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    Die("a forked child ended with status " + std::to_string(status) + ", kind " +
        std::to_string(static_cast<std::uint64_t>(kind)));
  }
}

int Main(const Options& options) {
  Session session(options);
  StepRun run(options);
  const std::uint64_t bytes = options.bytes / 4 * 4;
  const CUdeviceptr memory = session.Allocate(bytes);
  session.Fill(memory, bytes, options.seed);
  while (run.Next()) {
    session.Step(memory, bytes, options.seed);
    if (options.step_ms > 0) session.Spin(options.step_ms);
    ForkAndWait(session, static_cast<Child>(run.step() % 4));
  }
  const std::uint64_t hash = session.Hash(memory, bytes);
  session.Free(memory);
  run.Count("children", run.step());
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(argc, argv, "forker"));
}
