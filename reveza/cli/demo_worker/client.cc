#include "reveza/cli/demo_worker/client.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <thread>

// The test kernels as one image for cuModuleLoadData: for real cards of compute capability 7.5
// and later. The fake card knows them by name.
extern "C" const unsigned char reveza_test_kernels_image[];

namespace reveza::clients {
namespace {

template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && rest == end && *number >= 0;
}

bool ParseResolve(std::string_view text, Resolve* resolve) {
  // In the order of Resolve.
  constexpr std::string_view kNames[] = {"proc", "dlsym", "per-thread"};
  const auto name = std::ranges::find(kNames, text);
  if (name == std::end(kNames)) return false;
  *resolve = static_cast<Resolve>(name - std::begin(kNames));
  return true;
}

bool ParseOne(std::string_view key, std::string_view value, Options* options) {
  if (key == "bytes") return ParseBytes(value, &options->bytes);
  if (key == "steps") return ParseNumber(value, &options->steps);
  if (key == "seconds") return ParseNumber(value, &options->seconds);
  if (key == "seed") return ParseNumber(value, &options->seed);
  if (key == "step-ms") return ParseNumber(value, &options->step_ms);
  if (key == "resolve") return ParseResolve(value, &options->resolve);
  if (key == "name") {
    options->name = value;
    return !value.empty() && value.find_first_of("\"\\") == value.npos;
  }
  const auto found = options->extra.find(std::string(key));
  return found != options->extra.end() && ParseBytes(value, &found->second);
}

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

bool ParseBytes(std::string_view text, std::uint64_t* bytes) {
  struct Unit {
    std::string_view suffix;
    int shift;
  };
  for (const Unit unit : {Unit{"KiB", 10}, Unit{"MiB", 20}, Unit{"GiB", 30}}) {
    if (!text.ends_with(unit.suffix)) continue;
    double number = 0;
    if (!ParseNumber(text.substr(0, text.size() - unit.suffix.size()), &number)) return false;
    if (number > 1e9) return false;
    *bytes = static_cast<std::uint64_t>(number * static_cast<double>(1ull << unit.shift));
    return true;
  }
  return ParseNumber(text, bytes);
}

std::string ParseOptions(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      options->json = true;
      continue;
    }
    if (!argument.starts_with("--") || i + 1 == argc) {
      return "do not understand '" + std::string(argument) + "'";
    }
    const std::string_view key = argument.substr(2);
    if (!ParseOne(key, argv[++i], options)) {
      return "do not understand '" + std::string(argument) + " " + argv[i] + "'";
    }
  }
  return "";
}

Options OptionsOrExit(int argc, char** argv, const char* name,
                      std::map<std::string, std::uint64_t> extra) {
  Options options;
  options.name = name;
  options.extra = std::move(extra);
  const std::string wrong = ParseOptions(argc, argv, &options);
  if (wrong.empty()) return options;
  std::fprintf(stderr, "%s: %s\n", name, wrong.c_str());
  std::fprintf(stderr,
               "usage: %s [--bytes N[KiB|MiB|GiB]] [--steps N] [--seconds S] [--step-ms N] [--seed "
               "N] [--name X] [--json] [--resolve proc|dlsym|per-thread]",
               name);
  for (const auto& [key, value] : options.extra) {
    std::fprintf(stderr, " [--%s N (%" PRIu64 ")]", key.c_str(), value);
  }
  std::fprintf(stderr, "\n");
  std::exit(2);
}

std::uint64_t Combine(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t mixed = hash * 0x9e3779b97f4a7c15u + value;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

std::uint64_t HashOfBytes(const void* data, std::size_t bytes) {
  const auto* byte = static_cast<const unsigned char*>(data);
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ byte[i]) * 0x100000001b3u;
  return hash;
}

Session::Session(const Options& options, int device) : driver_(Driver::Load(options.resolve)) {
  REVEZA_CHECK(driver_, cuInit(0));
  REVEZA_CHECK(driver_, cuDeviceGet(&device_, device));
  REVEZA_CHECK(driver_, cuDevicePrimaryCtxRetain(&context_, device_));
  MakeCurrent();
  LoadKernels();
}

Session::Session(const Driver& driver, CUdevice device, CUcontext context)
    : driver_(driver), device_(device), context_(context) {
  LoadKernels();
}

void Session::MakeCurrent() const { REVEZA_CHECK(driver_, cuCtxSetCurrent(context_)); }

void Session::LoadKernels() {
  CUmodule kernels = nullptr;
  REVEZA_CHECK(driver_, cuModuleLoadData(&kernels, reveza_test_kernels_image));
  REVEZA_CHECK(driver_, cuModuleGetFunction(&fill_, kernels, "reveza_fill"));
  REVEZA_CHECK(driver_, cuModuleGetFunction(&add_, kernels, "reveza_add"));
  REVEZA_CHECK(driver_, cuModuleGetFunction(&step_, kernels, "reveza_step"));
  REVEZA_CHECK(driver_, cuModuleGetFunction(&verify_, kernels, "reveza_verify"));
  REVEZA_CHECK(driver_, cuModuleGetFunction(&hash_, kernels, "reveza_hash"));
  REVEZA_CHECK(driver_, cuModuleGetFunction(&spin_, kernels, "reveza_spin"));
  REVEZA_CHECK(driver_, cuModuleGetFunction(&write_until_, kernels, "reveza_write_until"));
  REVEZA_CHECK(driver_, cuModuleGetFunction(&copy_, kernels, "reveza_copy"));
}

CUdeviceptr Session::Allocate(std::uint64_t bytes) const {
  CUdeviceptr memory = 0;
  REVEZA_CHECK(driver_, cuMemAlloc(&memory, bytes));
  return memory;
}

void Session::Free(CUdeviceptr pointer) const { REVEZA_CHECK(driver_, cuMemFree(pointer)); }

template <typename... Arguments>
void Session::Launch(CUfunction function, std::uint64_t words, CUstream stream,
                     Arguments... arguments) const {
  constexpr unsigned kThreads = 256;
  constexpr std::uint64_t kMaxBlocks = 1024;  // kernels stride over what is left
  const std::uint64_t wanted = (words + kThreads - 1) / kThreads;
  const unsigned blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, 1, kMaxBlocks));
  void* parameters[] = {&arguments...};
  REVEZA_CHECK(driver_, cuLaunchKernel(function, blocks, 1, 1, kThreads, 1, 1, 0, stream,
                                       parameters, nullptr));
}

void Session::Fill(CUdeviceptr memory, std::uint64_t bytes, std::uint32_t value,
                   CUstream stream) const {
  Launch(fill_, bytes / 4, stream, memory, bytes / 4, value);
}

void Session::Add(CUdeviceptr memory, std::uint64_t bytes, std::uint32_t value,
                  CUstream stream) const {
  Launch(add_, bytes / 4, stream, memory, bytes / 4, value);
}

void Session::Step(CUdeviceptr memory, std::uint64_t bytes, std::uint32_t seed,
                   CUstream stream) const {
  Launch(step_, bytes / 4, stream, memory, bytes / 4, seed);
}

void Session::Copy(CUdeviceptr to, CUdeviceptr from, std::uint64_t bytes, CUstream stream) const {
  Launch(copy_, bytes / 4, stream, to, from, bytes / 4);
}

void Session::Spin(std::uint64_t milliseconds, CUstream stream) const {
  unsigned long long nanoseconds = milliseconds * 1'000'000;
  void* parameters[] = {&nanoseconds};
  REVEZA_CHECK(driver_, cuLaunchKernel(spin_, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
}

void Session::WriteUntil(CUdeviceptr memory, std::uint64_t bytes, CUdeviceptr flag,
                         CUstream stream) const {
  std::size_t words = bytes / 4;
  void* parameters[] = {&memory, &words, &flag};
  // One block: every thread must be able to see the flag while the others run.
  REVEZA_CHECK(driver_,
               cuLaunchKernel(write_until_, 1, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
}

std::uint64_t Session::ReadSum(CUdeviceptr sum, CUstream stream) const {
  std::uint64_t value = 0;
  REVEZA_CHECK(driver_, cuStreamSynchronize(stream));
  REVEZA_CHECK(driver_, cuMemcpyDtoH(&value, sum, sizeof value));
  Free(sum);
  return value;
}

std::uint64_t Session::Hash(CUdeviceptr memory, std::uint64_t bytes, CUstream stream) const {
  CUdeviceptr sum = Allocate(sizeof(std::uint64_t));
  REVEZA_CHECK(driver_, cuMemsetD8Async(sum, 0, sizeof(std::uint64_t), stream));
  Launch(hash_, bytes / 4, stream, memory, bytes / 4, sum);
  return ReadSum(sum, stream);
}

std::uint64_t Session::Mismatches(CUdeviceptr memory, std::uint64_t bytes, std::uint32_t value,
                                  CUstream stream) const {
  CUdeviceptr count = Allocate(sizeof(std::uint64_t));
  REVEZA_CHECK(driver_, cuMemsetD8Async(count, 0, sizeof(std::uint64_t), stream));
  Launch(verify_, bytes / 4, stream, memory, bytes / 4, value, count);
  return ReadSum(count, stream);
}

void Session::Synchronize() const { REVEZA_CHECK(driver_, cuCtxSynchronize()); }

StepRun::StepRun(const Options& options) : options_(options), begin_(SecondsNow()) {}

bool StepRun::Next() {
  if (ready_ == 0) {
    ready_ = UnixSeconds();
    WaitForOthers();
    loop_begin_ = UnixSeconds();
  }
  const bool more =
      options_.seconds > 0 ? SecondsNow() - begin_ < options_.seconds : step_ < options_.steps;
  if (more) ++step_;
  return more;
}

int StepRun::Finish(std::uint64_t hash) const {
  const double seconds = SecondsNow() - begin_;
  const char* pattern =
      options_.json ? "{\"name\":\"%s\",\"hash\":\"%016" PRIx64 "\",\"bytes\":%" PRIu64
                      ",\"steps\":%" PRIu64 ",\"seconds\":%.6f"
                    : "%s: hash %016" PRIx64 ", %" PRIu64 " bytes, %" PRIu64 " steps, %.3f s";
  std::printf(pattern, options_.name.c_str(), hash, options_.bytes, step_, seconds);
  for (const auto& [key, value] : counters_) {
    std::printf(options_.json ? ",\"%s\":%" PRIu64 : ", %s %" PRIu64, key.c_str(), value);
  }
  if (options_.json) {
    std::printf(",\"ready\":%.6f,\"loop_begin\":%.6f,\"loop_end\":%.6f", ready_, loop_begin_,
                UnixSeconds());
  }
  std::printf(options_.json ? "}\n" : "\n");
  std::fflush(stdout);
  return 0;
}

void WaitForOthers() {
  const char* ready_path = std::getenv("BENCH_READY");
  const char* gate_path = std::getenv("BENCH_GATE");
  if (ready_path == nullptr || gate_path == nullptr) return;
  const int gate = open(gate_path, O_RDONLY | O_CLOEXEC);
  const int ready = open(ready_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  // The kernel wakes all programs at once when the benchmark releases its exclusive lock, or dies.
  if (gate < 0 || ready < 0 || flock(gate, LOCK_SH) != 0) Die("cannot wait for the others");
  close(ready);
  close(gate);
}

double SecondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void SleepMilliseconds(std::uint64_t milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace reveza::clients
