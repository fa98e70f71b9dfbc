// Two processes of one job that compute in step, like the ranks of a training: the GPU work of each
// step ends with a collective, in which each waits for the other. Neither waits on the CPU, and one
// may have submitted more than the other: a rank cannot finish its work if the other stops before
// that step. `--values 1`: the wait is a stream operation instead of a kernel.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

constexpr int kRanks = 2;

// A rank's words in shared host memory, one per step: 1 when its GPU work has reached the
// collective.
class Rank {
 public:
  Rank(const Options& options, int rank, void* shared, std::size_t bytes)
      : options_(options), rank_(rank), session_(options) {
    const Driver& driver = session_.driver();
    REVEZA_CHECK(driver, cuMemHostRegister(shared, bytes, CU_MEMHOSTREGISTER_DEVICEMAP));
    CUdeviceptr words = 0;
    REVEZA_CHECK(driver, cuMemHostGetDevicePointer(&words, shared, 0));
    mine_ = words + static_cast<CUdeviceptr>(rank) * bytes / kRanks;
    other_ = words + static_cast<CUdeviceptr>(1 - rank) * bytes / kRanks;
    REVEZA_CHECK(driver, cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }

  std::uint64_t Play() {
    const std::uint64_t bytes = options_.bytes / 4 * 4;
    const CUdeviceptr memory = session_.Allocate(bytes);
    const CUdeviceptr scratch = session_.Allocate(4);
    session_.Fill(memory, bytes, options_.seed, stream_);
    std::uint64_t random = options_.seed + static_cast<std::uint64_t>(rank_);
    for (std::uint64_t step = 0; step < options_.steps; ++step) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      for (std::uint64_t extra = random >> 62; extra > 0; --extra) {
        session_.Step(memory, 4096, options_.seed, stream_);
      }
      if ((random >> 32) % 16 == 0) SleepMilliseconds((random >> 40) % 20);
      session_.Spin(options_.step_ms, stream_);
      Meet(step, scratch);
    }
    const std::uint64_t hash = session_.Hash(memory, bytes, stream_);
    session_.Free(memory);
    session_.Free(scratch);
    return hash;
  }

 private:
  void Meet(std::uint64_t step, CUdeviceptr scratch) const {
    const Driver& driver = session_.driver();
    if (options_.Extra("values") != 0) {
      REVEZA_CHECK(driver, cuStreamWriteValue32(stream_, mine_ + 4 * step, 1, 0));
      REVEZA_CHECK(driver,
                   cuStreamWaitValue32(stream_, other_ + 4 * step, 1, CU_STREAM_WAIT_VALUE_EQ));
    } else {
      session_.Fill(mine_ + 4 * step, 4, 1, stream_);
      session_.WriteUntil(scratch, 4, other_ + 4 * step, stream_);
    }
  }

  const Options& options_;
  const int rank_;
  Session session_;
  CUstream stream_ = nullptr;
  CUdeviceptr mine_ = 0, other_ = 0;
};

int Main(const Options& options) {
  StepRun run(options);
  const std::size_t bytes = (options.steps * kRanks * 4 + 4095) / 4096 * 4096;
  void* shared = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int result[2];
  if (shared == MAP_FAILED || pipe(result) != 0) Die("cannot create the shared memory or the pipe");
  const pid_t child = fork();  // before the first CUDA call
  if (child < 0) Die("cannot fork");
  if (child == 0) {
    const std::uint64_t hash = Rank(options, 1, shared, bytes).Play();
    _exit(write(result[1], &hash, sizeof hash) == sizeof hash ? 0 : 1);
  }
  const std::uint64_t mine = Rank(options, 0, shared, bytes).Play();
  std::uint64_t other = 0;
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0 ||
      read(result[0], &other, sizeof other) != sizeof other) {
    Die("the other rank failed");
  }
  while (run.Next()) {
  }
  return run.Finish(Combine(mine, other));
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(
      reveza::clients::OptionsOrExit(argc, argv, "ranks", {{"values", 0}}));
}
