// random_program FILE          executes the program and prints what it saw; with --wait, ends only
// at
//                              SIGTERM, so that its accounts can be compared
// random_program --contend BYTES DEVICES
//                              holds BYTES of each device and works on them until SIGTERM
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

#include "tests/random_programs/world.h"

namespace reveza::random_programs {
namespace {

// What a program may allocate on a device; cases/ rely on it.
constexpr std::size_t kMemory = 12 << 20;

std::string RunSerially(const Driver& driver, const Program& program) {
  World world(driver, program, kMemory, false);
  std::mutex mutex;
  std::condition_variable changed;
  // Threads take the steps of their number: the operations, then the end of each thread.
  const std::size_t operations = program.operations.size();
  const std::size_t steps = operations + static_cast<std::size_t>(program.threads);
  std::size_t step = 0;
  const auto run = [&](int thread) {
    std::unique_lock lock(mutex);
    while (step < steps) {
      const int next =
          step < operations ? program.operations[step].thread : static_cast<int>(step - operations);
      if (next != thread) {
        changed.wait(lock);
        continue;
      }
      if (step == 0) world.Begin();
      if (step < operations) {
        world.Run(program.operations[step]);
      } else {
        world.EndThread(thread);
      }
      ++step;
      changed.notify_all();
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < program.threads; ++thread) threads.emplace_back(run, thread);
  for (std::thread& thread : threads) thread.join();
  world.End();
  return world.text();
}

std::string RunConcurrently(const Driver& driver, const Program& program) {
  std::vector<std::string> texts(static_cast<std::size_t>(program.threads));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < program.threads; ++thread) {
    threads.emplace_back([&, thread] {
      World world(driver, program, kMemory / static_cast<std::size_t>(program.threads), true);
      world.Begin();
      for (const Operation& operation : program.operations) {
        if (operation.thread == thread) world.Run(operation);
      }
      world.EndThread(thread);
      world.End();
      texts[static_cast<std::size_t>(thread)] = world.text();
    });
  }
  std::string all;
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) all += text;
  return all;
}

sigset_t EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  return signals;
}

int Contend(const char* bytes_text, const char* devices_text) {
  const Driver driver = LoadDriver(Resolve::kProc);
  const auto bytes = static_cast<std::size_t>(std::atoll(bytes_text));
  Program program{.devices = std::atoi(devices_text), .operations = {}};
  World world(driver, program, 0, false);
  if (driver.cuInit(0) != CUDA_SUCCESS) return 1;
  world.Begin();
  return world.Contend(bytes, [] {
    const sigset_t signals = EndSignals();
    const timespec none{};
    return sigtimedwait(&signals, nullptr, &none) < 0;
  });
}

int RunFile(const char* path, bool wait) {
  std::ifstream file(path);
  const auto program = ParseProgram(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!program) {
    std::fprintf(stderr, "%s: %s\n", path, program.error().message.c_str());
    return 2;
  }
  const Driver driver = LoadDriver(program->resolve);
  if (driver.cuInit(0) != CUDA_SUCCESS) return 1;
  const std::string text =
      program->serial ? RunSerially(driver, *program) : RunConcurrently(driver, *program);
  std::printf("%sdone\n", text.c_str());
  std::fflush(stdout);
  int number = 0;
  const sigset_t signals = EndSignals();
  if (wait) sigwait(&signals, &number);
  return 0;
}

}  // namespace
}  // namespace reveza::random_programs

int main(int argc, char** argv) {
  using namespace reveza::random_programs;
  const sigset_t signals = EndSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  if (argc == 4 && std::strcmp(argv[1], "--contend") == 0) return Contend(argv[2], argv[3]);
  const bool wait = argc == 3 && std::strcmp(argv[2], "--wait") == 0;
  if (argc != 2 && !wait) {
    std::fprintf(stderr, "usage: random_program FILE [--wait]\n");
    return 2;
  }
  return RunFile(argv[1], wait);
}
