// Options from the environment. README.md describes each variable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fakecuda {

// FAKECUDA_FAIL: the `call`-th call of `name` returns `result`.
struct Failure {
  std::string name;  // an entry, with or without its version and suffix, or "any"
  std::uint64_t call = 0;
  int result = 0;
};

// FAKECUDA_NVML: what libnvidia-ml.so.1 reports. Containers, MIG and WSL lack the memory of
// processes.
enum class Nvml { kFull, kNoProcessMemory, kNone };

// Version of CUDA that cuda/cuda.h completes NVIDIA's to.
inline constexpr int kNewestDriver = 13050;

struct Options {
  std::string directory;
  std::uint64_t memory = 256ull << 20;
  std::uint64_t host_memory = 0;  // of the NUMA node, for VMM; 0: unlimited
  double link = 2e9;              // bytes/s per direction; 0: unlimited
  int devices = 1;
  std::vector<std::uint64_t> instances;  // memory of each MIG instance; empty: no MIG
  std::uint64_t context_bytes = 2ull << 20;
  std::uint64_t seed = 0;
  std::vector<Failure> failures;
  std::uint64_t late_release_microseconds = 0;
  std::uint64_t lazy_bytes = 0;
  Nvml nvml = Nvml::kFull;
  int driver_version = kNewestDriver;  // as cuDriverGetVersion returns it
  bool virtual_memory = true;
  bool host_virtual_memory = true;
  bool mps = false;
  bool verbose = false;

  static Options FromEnvironment();
};

// Parses "4096", "64MiB", "2GB", "2GB/s". Returns false if invalid.
bool ParseSize(std::string_view text, double* bytes);

// Returns FAKECUDA_DRIVER, or the newest version if it is not set.
int DriverVersionFromEnvironment();

// Parses "12.4" into 12040. Returns false if invalid.
bool ParseVersion(std::string_view text, int* version);

// Parses "full", "no-process-memory", "none". Returns false if invalid.
bool ParseNvml(std::string_view text, Nvml* nvml);

// Parses "64MiB,96MiB" into whole granules. Returns false if invalid.
bool ParseInstances(std::string_view text, std::vector<std::uint64_t>* instances);

// Parses "cuMemCreate:5:2,any:17:700". Returns false if invalid.
bool ParseFailures(std::string_view text, std::vector<Failure>* failures);

}  // namespace fakecuda
