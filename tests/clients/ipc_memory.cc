// Two processes of one job that change the same memory by turns, shared through legacy CUDA IPC. At
// the end the exporter frees the memory first; `--end 1`: it is killed; `--end 2`: the importer is.
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "reveza/cli/demo_worker/client.h"
#include "tests/clients/partner.h"

namespace reveza::clients {
namespace {

enum End : std::uint64_t { kFree, kExporterKilled, kImporterKilled };

// Several pieces, one piece and a part of a slab. The last one is not opened.
constexpr std::size_t kShared = 3;
using Handles = std::array<CUipcMemHandle, kShared + 1>;
using Memory = std::array<CUdeviceptr, kShared + 1>;

std::uint64_t BytesOf(const Options& options, std::size_t i) {
  const std::uint64_t sizes[] = {options.bytes / 4 * 4, 3 << 20, 4096, 3 << 20};
  return sizes[i];
}

void StepAll(const Session& session, const Options& options, const Memory& memory) {
  for (std::size_t i = 0; i < kShared; ++i) {
    session.Step(memory[i], BytesOf(options, i), options.seed);
  }
  session.Synchronize();
}

std::uint64_t HashAll(const Session& session, const Options& options, const Memory& memory) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < kShared; ++i) {
    hash = Combine(hash, session.Hash(memory[i], BytesOf(options, i)));
  }
  return hash;
}

std::uint64_t Export(const Options& options, const Partner& partner) {
  Session session(options);
  const Driver& driver = session.driver();
  Memory memory{};
  Handles handles{};
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i] = session.Allocate(BytesOf(options, i));
    session.Fill(memory[i], BytesOf(options, i), static_cast<std::uint32_t>(options.seed + i));
    REVEZA_CHECK(driver, cuIpcGetMemHandle(&handles[i], memory[i]));
  }
  session.Synchronize();
  CUdeviceptr own = 0;
  if (driver.cuIpcOpenMemHandle(&own, handles[0], CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) !=
      CUDA_ERROR_INVALID_CONTEXT) {
    Die("the exporter has opened its own memory");
  }
  partner.Send(handles);
  for (std::uint64_t round = 0; round < options.steps; ++round) {
    partner.Receive<char>();
    StepAll(session, options, memory);
    if (options.step_ms > 0) session.Spin(options.step_ms);
    partner.Send('e');
  }
  if (options.Extra("end") == kExporterKilled) raise(SIGKILL);
  const std::uint64_t hash = HashAll(session, options, memory);
  for (const CUdeviceptr one : memory) session.Free(one);
  if (options.Extra("end") == kFree) {
    partner.Send('f');
    partner.Receive<char>();
  }
  return hash;
}

std::uint64_t Import(const Options& options, const Partner& partner) {
  Session session(options);
  const Driver& driver = session.driver();
  const auto handles = partner.Receive<Handles>();
  constexpr unsigned kFlags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
  Memory memory{};
  for (std::size_t i = 0; i < kShared; ++i) {
    REVEZA_CHECK(driver, cuIpcOpenMemHandle(&memory[i], handles[i], kFlags));
  }
  for (std::uint64_t round = 0; round < options.steps; ++round) {
    StepAll(session, options, memory);
    partner.Send('i');
    partner.Receive<char>();
  }
  if (options.Extra("end") == kImporterKilled) raise(SIGKILL);
  if (options.Extra("end") == kFree) partner.Receive<char>();
  // The exporter has freed it, or is gone.
  if (options.Extra("end") == kExporterKilled && waitpid(-1, nullptr, 0) < 0) Die("cannot wait");
  const std::uint64_t hash = HashAll(session, options, memory);
  for (std::size_t i = 0; i < kShared; ++i) {
    REVEZA_CHECK(driver, cuIpcCloseMemHandle(memory[i]));
  }
  CUdeviceptr stale = 0;
  for (const std::size_t i : {std::size_t{0}, kShared}) {
    if (driver.cuIpcOpenMemHandle(&stale, handles[i], kFlags) == CUDA_SUCCESS) {
      Die("memory that is gone was opened");
    }
  }
  if (options.Extra("end") == kFree) partner.Send('c');
  return hash;
}

int Main(const Options& options) {
  StepRun run(options);
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) Die("cannot create the socket pair");
  // The process that is killed is the child.
  const auto child_runs = options.Extra("end") == kExporterKilled ? Export : Import;
  const auto parent_runs = options.Extra("end") == kExporterKilled ? Import : Export;
  const pid_t child = fork();  // before the first CUDA call
  if (child < 0) Die("cannot fork");
  const Partner partner(sockets[child == 0 ? 1 : 0]);
  close(sockets[child == 0 ? 0 : 1]);
  if (child == 0) {
    child_runs(options, partner);
    _exit(0);
  }
  const std::uint64_t hash = parent_runs(options, partner);
  while (run.Next()) {
  }
  run.Count("processes", 2);
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(
      reveza::clients::OptionsOrExit(argc, argv, "ipc_memory", {{"end", 0}}));
}
