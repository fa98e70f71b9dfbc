// Works in bursts, while other threads make calls that submit nothing: they query an event, a
// stream, free memory, a pointer, and make and destroy events.
#include <atomic>
#include <thread>
#include <vector>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

void CheckQuery(const Driver& driver, CUresult result, const char* what, int line) {
  if (result != CUDA_ERROR_NOT_READY) CheckCall(driver, result, what, line);
}

void Poll(const Session& session, CUevent event, CUdeviceptr memory, std::uint64_t pause_us,
          const std::atomic<bool>& ends, std::atomic<std::uint64_t>& polls) {
  session.MakeCurrent();
  const Driver& driver = session.driver();
  while (!ends) {
    CheckQuery(driver, driver.cuEventQuery(event), "cuEventQuery", __LINE__);
    CheckQuery(driver, driver.cuStreamQuery(nullptr), "cuStreamQuery", __LINE__);
    std::size_t free = 0;
    std::size_t total = 0;
    REVEZA_CHECK(driver, cuMemGetInfo(&free, &total));
    unsigned type = 0;
    REVEZA_CHECK(driver, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    if (type != CU_MEMORYTYPE_DEVICE) Die("an address in device memory is not known as such");
    CUevent passing = nullptr;
    REVEZA_CHECK(driver, cuEventCreate(&passing, CU_EVENT_DISABLE_TIMING));
    REVEZA_CHECK(driver, cuEventDestroy(passing));
    ++polls;
    if (pause_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
  }
}

int Main(const Options& options) {
  Session session(options);
  StepRun run(options);
  const std::uint64_t bytes = options.bytes / 4 * 4;
  const CUdeviceptr memory = session.Allocate(bytes);
  session.Fill(memory, bytes, options.seed);
  CUevent event = nullptr;
  REVEZA_CHECK(session.driver(), cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  REVEZA_CHECK(session.driver(), cuEventRecord(event, nullptr));
  std::atomic<bool> ends = false;
  std::atomic<std::uint64_t> polls = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < options.Extra("threads"); ++i) {
    threads.emplace_back(
        [&] { Poll(session, event, memory, options.Extra("poll-us"), ends, polls); });
  }
  while (run.Next()) {
    session.Step(memory, bytes, options.seed);
    session.Synchronize();
    SleepMilliseconds(options.Extra("pause-ms"));
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
  const std::uint64_t hash = session.Hash(memory, bytes);
  REVEZA_CHECK(session.driver(), cuEventDestroy(event));
  session.Free(memory);
  run.Count("polls", polls);
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(
      argc, argv, "poller", {{"threads", 2}, {"poll-us", 0}, {"pause-ms", 100}}));
}
