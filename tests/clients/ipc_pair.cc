// Two processes of one job that wait for each other on the GPU through shared events. Scheduled one
// at a time, they would deadlock. A counter in shared host memory shows that each round saw the
// results of the other process.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reveza/cli/demo_worker/client.h"
#include "tests/clients/partner.h"

namespace reveza::clients {
namespace {

struct Events {
  CUevent mine, other;
};

Events ShareEvents(const Driver& driver, const Partner& partner) {
  Events events{};
  REVEZA_CHECK(driver,
               cuEventCreate(&events.mine, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  CUipcEventHandle handle{};
  REVEZA_CHECK(driver, cuIpcGetEventHandle(&handle, events.mine));
  partner.Send(handle);
  REVEZA_CHECK(driver, cuIpcOpenEventHandle(&events.other, partner.Receive<CUipcEventHandle>()));
  return events;
}

// In each round the leader's GPU work runs first, then the follower's, each behind the other's
// event.
std::uint64_t Play(const Options& options, const Partner& partner, void* shared, bool leader) {
  Session session(options);
  const Driver& driver = session.driver();
  REVEZA_CHECK(driver, cuMemHostRegister(shared, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
  CUdeviceptr counter = 0;
  REVEZA_CHECK(driver, cuMemHostGetDevicePointer(&counter, shared, 0));
  CUstream stream = nullptr;
  REVEZA_CHECK(driver, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const Events events = ShareEvents(driver, partner);
  const std::uint64_t bytes = options.bytes / 4 * 4;
  const CUdeviceptr memory = session.Allocate(bytes);
  const CUdeviceptr seen = session.Allocate(options.steps * 4 + 4);
  session.Fill(memory, bytes, options.seed, stream);
  session.Fill(seen, options.steps * 4 + 4, 0, stream);
  for (std::uint64_t round = 0; round < options.steps; ++round) {
    if (!leader || round > 0) {
      partner.Receive<char>();  // the partner has submitted its record of this round
      REVEZA_CHECK(driver, cuStreamWaitEvent(stream, events.other, 0));
    }
    session.Copy(seen + 4 * round, counter, 4, stream);
    session.Add(counter, 4, 1, stream);
    session.Step(memory, bytes, options.seed, stream);
    session.Spin(options.step_ms, stream);
    REVEZA_CHECK(driver, cuEventRecord(events.mine, stream));
    partner.Send('r');
  }
  if (leader) partner.Receive<char>();
  std::uint64_t hash = session.Hash(memory, bytes, stream);
  hash = Combine(hash, session.Hash(seen, options.steps * 4, stream));
  if (leader) {
    partner.Send('e');
  } else {
    partner.Receive<char>();  // keeps the events alive until both have waited for them
  }
  REVEZA_CHECK(driver, cuEventDestroy(events.mine));
  REVEZA_CHECK(driver, cuEventDestroy(events.other));
  REVEZA_CHECK(driver, cuStreamDestroy(stream));
  REVEZA_CHECK(driver, cuMemHostUnregister(shared));
  session.Free(memory);
  session.Free(seen);
  return hash;
}

int Main(const Options& options) {
  StepRun run(options);
  void* shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int sockets[2];
  if (shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) {
    Die("cannot create the shared memory or the socket pair");
  }
  const pid_t child = fork();  // before the first CUDA call
  if (child < 0) Die("cannot fork");
  if (child == 0) {
    close(sockets[0]);
    const Partner partner(sockets[1]);
    partner.Send(Play(options, partner, shared, false));
    _exit(0);
  }
  close(sockets[1]);
  const Partner partner(sockets[0]);
  const std::uint64_t mine = Play(options, partner, shared, true);
  const auto other = partner.Receive<std::uint64_t>();
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) Die("the other process failed");
  const auto count = *static_cast<std::uint32_t*>(shared);
  if (count != 2 * options.steps) {
    Die("unexpected value of the shared counter: " + std::to_string(count));
  }
  while (run.Next()) {
  }
  run.Count("processes", 2);
  return run.Finish(Combine(mine, other));
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(argc, argv, "ipc_pair"));
}
