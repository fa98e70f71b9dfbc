// What the client programs share: command line, a context with the test kernels, and the result
// line. A program is a test subject: any CUDA error ends it with one clear line and status 1.
//
// Results are deterministic: the same options give the same hash on every card, alone or in turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reveza/cli/demo_worker/driver.h"

namespace reveza::clients {

// Exit status of a program that cannot show what it is for on this machine.
inline constexpr int kSkipped = 77;

struct Options {
  std::uint64_t bytes = 64ull << 20;    // --bytes 64MiB: GPU memory to hold
  std::uint64_t steps = 20;             // --steps
  double seconds = 0;                   // --seconds: when given, as many steps as fit in
  bool json = false;                    // --json: the last line on stdout is a JSON object
  std::string name;                     // --name
  std::uint32_t seed = 1;               // --seed
  std::uint32_t step_ms = 0;            // --step-ms: GPU time that a step takes beside its work
  Resolve resolve = Driver::Default();  // --resolve proc|dlsym|per-thread
  std::map<std::string, std::uint64_t> extra;  // options of one program

  std::uint64_t Extra(const std::string& key) const { return extra.at(key); }
};

// "4096", "64MiB", "1.5GiB". False when it is no size.
bool ParseBytes(std::string_view text, std::uint64_t* bytes);

// Reads argv into *options, whose `extra` names the program's own options with their defaults.
// Returns "" or what is wrong.
std::string ParseOptions(int argc, char** argv, Options* options);
// The same for main(): a wrong command line ends the program with status 2.
Options OptionsOrExit(int argc, char** argv, const char* name,
                      std::map<std::string, std::uint64_t> extra = {});

// Mixes `value` into `hash`; order matters.
std::uint64_t Combine(std::uint64_t hash, std::uint64_t value);
std::uint64_t HashOfBytes(const void* data, std::size_t bytes);

// The kernels of reveza/cli/demo_worker in one context of one device, made current to the caller.
class Session {
 public:
  explicit Session(const Options& options, int device = 0);
  // In a context that the caller made and keeps; it must be current.
  Session(const Driver& driver, CUdevice device, CUcontext context);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Driver& driver() const { return driver_; }
  CUdevice device() const { return device_; }
  CUcontext context() const { return context_; }
  void MakeCurrent() const;

  CUdeviceptr Allocate(std::uint64_t bytes) const;
  void Free(CUdeviceptr pointer) const;

  // Kernels over `bytes` (a multiple of 4) of memory, on a stream.
  void Fill(CUdeviceptr memory, std::uint64_t bytes, std::uint32_t value,
            CUstream stream = nullptr) const;
  void Add(CUdeviceptr memory, std::uint64_t bytes, std::uint32_t value,
           CUstream stream = nullptr) const;
  void Step(CUdeviceptr memory, std::uint64_t bytes, std::uint32_t seed,
            CUstream stream = nullptr) const;
  void Copy(CUdeviceptr to, CUdeviceptr from, std::uint64_t bytes, CUstream stream = nullptr) const;
  void Spin(std::uint64_t milliseconds, CUstream stream = nullptr) const;
  void WriteUntil(CUdeviceptr memory, std::uint64_t bytes, CUdeviceptr flag,
                  CUstream stream = nullptr) const;

  // Hash of the memory's contents. Waits for the stream.
  std::uint64_t Hash(CUdeviceptr memory, std::uint64_t bytes, CUstream stream = nullptr) const;
  // How many 32-bit words differ from `value`. Waits for the stream.
  std::uint64_t Mismatches(CUdeviceptr memory, std::uint64_t bytes, std::uint32_t value,
                           CUstream stream = nullptr) const;
  void Synchronize() const;

 private:
  void LoadKernels();
  template <typename... Arguments>
  void Launch(CUfunction function, std::uint64_t words, CUstream stream,
              Arguments... arguments) const;
  std::uint64_t ReadSum(CUdeviceptr sum, CUstream stream) const;

  Driver driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUfunction fill_ = nullptr, add_ = nullptr, step_ = nullptr, verify_ = nullptr, hash_ = nullptr,
             spin_ = nullptr, write_until_ = nullptr, copy_ = nullptr;
};

// Counts steps and time, and prints the result line at the end. The result says when the start-up
// ended and when the steps began and ended, in seconds since 1970: the steps begin where all
// programs of a benchmark are ready (see WaitForOthers).
class StepRun {
 public:
  explicit StepRun(const Options& options);

  // True as long as another step is to be made; the step's number is step() - 1.
  bool Next();
  std::uint64_t step() const { return step_; }

  void Count(const std::string& key, std::uint64_t value) { counters_[key] = value; }
  // Prints the result; returns the exit status.
  int Finish(std::uint64_t hash) const;

 private:
  const Options options_;
  const double begin_;
  double ready_ = 0, loop_begin_ = 0;
  std::uint64_t step_ = 0;
  std::map<std::string, std::uint64_t> counters_;
};

// Creates the file $BENCH_READY, and waits until the benchmark releases its lock of the file
// $BENCH_GATE. Does nothing without these variables.
void WaitForOthers();

double SecondsNow();
void SleepMilliseconds(std::uint64_t milliseconds);

}  // namespace reveza::clients
