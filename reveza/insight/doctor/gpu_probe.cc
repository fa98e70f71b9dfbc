#include "reveza/insight/doctor/gpu_probe.h"

#include <cuda.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "common/base/unique_fd.h"
#include "common/base/units.h"
#include "common/platform/shared_library.h"
#include "reveza/gpu/nvml/gpu_monitor.h"
#include "reveza/insight/doctor/checks.h"
#include "reveza/insight/doctor/gpus.h"

namespace reveza::doctor {
namespace {

// Calls the CUDA driver by function name; the doctor does not link to it. Remembers the first call
// that failed.
class DriverCalls {
 public:
  explicit DriverCalls(platform::SharedLibrary library) : library_(std::move(library)) {}

  template <typename Function, typename... Arguments>
  bool Call(const char* name, Arguments... arguments) {
    auto* function = library_.Symbol<Function>(name);
    const CUresult result = function == nullptr ? CUDA_ERROR_NOT_FOUND : function(arguments...);
    if (result != CUDA_SUCCESS && failed_ == nullptr) {
      failed_ = name;
      result_ = result;
    }
    return result == CUDA_SUCCESS;
  }

  bool failed() const { return failed_ != nullptr; }
  // Returns "cuInit failed with error 100".
  std::string Failure() const {
    return fmt::format("{} failed with error {}", failed_, static_cast<int>(result_));
  }

 private:
  platform::SharedLibrary library_;
  const char* failed_ = nullptr;
  CUresult result_ = CUDA_SUCCESS;
};

#define REVEZA_CALL(driver, name, ...) (driver).Call<decltype(name)>(#name, __VA_ARGS__)

bool RetainContext(DriverCalls& driver, int index, CUdevice& device) {
  CUcontext context{};
  return REVEZA_CALL(driver, cuDeviceGet, &device, index) &&
         REVEZA_CALL(driver, cuDevicePrimaryCtxRetain, &context, device) &&
         REVEZA_CALL(driver, cuCtxSetCurrent, context);
}

// Calls `measure`(driver, index, measurement) for each GPU in CUDA's order, with a context on it,
// and returns the measurements. kUnavailable names the call of the driver `library` that failed.
template <typename Measurement, typename Measure>
Result<std::vector<Measurement>> MeasureGpus(const char* library, const Measure& measure) {
  auto loaded = platform::OpenCudaDriver(library);
  if (!loaded) {
    return Fail(Error::Code::kUnavailable, "cannot load {}: {}", library, loaded.error().message);
  }
  DriverCalls driver(*std::move(loaded));
  int count = 0;
  std::vector<Measurement> gpus;
  if (REVEZA_CALL(driver, cuInit, 0U) && REVEZA_CALL(driver, cuDeviceGetCount, &count)) {
    for (int index = 0; index < count && !driver.failed(); ++index) {
      Measurement measurement;
      CUdevice device{};
      std::array<char, 128> name{};
      if (!RetainContext(driver, index, device) ||
          !REVEZA_CALL(driver, cuDeviceGetName, name.data(), static_cast<int>(name.size()),
                       device)) {
        break;
      }
      measurement.gpu = name.data();
      measure(driver, index, measurement);
      driver.Call<decltype(cuDevicePrimaryCtxRelease)>("cuDevicePrimaryCtxRelease_v2", device);
      gpus.push_back(std::move(measurement));
    }
  }
  if (driver.failed()) return Fail(Error::Code::kUnavailable, driver.Failure());
  return gpus;
}

// Contexts that take more than this share of a GPU are worth a warning.
constexpr double kMaxContextShare = 0.25;

bool Send(const UniqueFd& socket, int number) {
  return send(socket.get(), &number, sizeof(number), MSG_NOSIGNAL) == sizeof(number);
}
std::optional<int> Receive(const UniqueFd& socket) {
  int number = 0;
  ssize_t got = 0;
  do got = recv(socket.get(), &number, sizeof(number), 0);
  while (got < 0 && errno == EINTR);
  if (got != sizeof(number)) return std::nullopt;
  return number;
}

// The helper process: creates a context on each requested GPU and confirms it.
[[noreturn]] void ServeRequests(const char* library, const UniqueFd& socket) {
  auto loaded = platform::OpenCudaDriver(library);
  if (!loaded) _exit(1);
  DriverCalls driver(*std::move(loaded));
  if (!REVEZA_CALL(driver, cuInit, 0U)) _exit(1);
  CUdevice device{};
  while (const auto index = Receive(socket)) {
    if (!Send(socket, RetainContext(driver, *index, device) ? 1 : 0)) break;
  }
  _exit(0);
}

class HelperProcess {
 public:
  // Must precede loading the driver in this process: it does not survive fork().
  explicit HelperProcess(const char* library) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
    UniqueFd own(ends[0]);
    const UniqueFd theirs(ends[1]);
    pid_ = fork();
    if (pid_ == 0) {
      own.Reset();
      ServeRequests(library, theirs);
    }
    socket_ = std::move(own);
  }
  ~HelperProcess() {
    socket_.Reset();
    while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  bool CreateContext(int index) {
    return pid_ > 0 && Send(socket_, index) && Receive(socket_) == 1;
  }

 private:
  pid_t pid_ = -1;
  UniqueFd socket_;
};

// Returns the free memory once it is stable over several readings; else nullopt.
std::optional<std::size_t> SteadyFree(DriverCalls& driver, std::size_t& total) {
  constexpr int kMaxContextTries = 20;
  constexpr int kSame = 3;
  std::size_t last = 0;
  int same = 0;
  for (int i = 0; i < kMaxContextTries; ++i) {
    std::size_t free = 0;
    if (!driver.Call<decltype(cuMemGetInfo)>("cuMemGetInfo_v2", &free, &total)) return std::nullopt;
    same = free == last ? same + 1 : 1;
    if (same == kSame) return free;
    last = free;
    poll(nullptr, 0, 2);
  }
  return std::nullopt;
}

void Measure(DriverCalls& driver, int index, HelperProcess& other, ContextCost& cost) {
  std::size_t total = 0;
  const auto before = SteadyFree(driver, total);
  cost.total = total;
  if (before && other.CreateContext(index)) {
    const auto after = SteadyFree(driver, total);
    if (after && *after < *before) cost.taken = *before - *after;
  }
}

// A running thread polls the clock more often than this.
constexpr std::uint64_t kGap = 20'000;  // ns
constexpr double kMinNotable = 0.05;
constexpr double kMaxWaiting = 0.3;

// Writes three numbers to `out`: nanoseconds watched, nanoseconds preempted, preemptions.
constexpr const char* kWatchKernel = R"(
.version 5.0
.target sm_60
.address_size 64
.visible .entry reveza_watch(.param .u64 out, .param .u64 watch, .param .u64 gap)
{
  .reg .u64 %out, %watch, %gap, %start, %last, %now, %step, %all, %away, %times;
  .reg .pred %gone, %again;
  ld.param.u64 %out, [out];
  ld.param.u64 %watch, [watch];
  ld.param.u64 %gap, [gap];
  cvta.to.global.u64 %out, %out;
  mov.u64 %start, %globaltimer;
  mov.u64 %last, %start;
  mov.u64 %away, 0;
  mov.u64 %times, 0;
LOOK:
  mov.u64 %now, %globaltimer;
  sub.u64 %step, %now, %last;
  mov.u64 %last, %now;
  setp.gt.u64 %gone, %step, %gap;
  @%gone add.u64 %away, %away, %step;
  @%gone add.u64 %times, %times, 1;
  sub.u64 %all, %now, %start;
  setp.lt.u64 %again, %all, %watch;
  @%again bra LOOK;
  st.global.u64 [%out], %all;
  st.global.u64 [%out+8], %away;
  st.global.u64 [%out+16], %times;
  ret;
}
)";

void Watch(DriverCalls& driver, std::chrono::nanoseconds watch, TimeSlicing& turns) {
  CUmodule module{};
  CUfunction kernel{};
  CUdeviceptr memory{};
  if (!REVEZA_CALL(driver, cuModuleLoadData, &module, kWatchKernel) ||
      !REVEZA_CALL(driver, cuModuleGetFunction, &kernel, module, "reveza_watch")) {
    return;
  }
  std::array<std::uint64_t, 3> numbers{};
  auto nanoseconds = static_cast<std::uint64_t>(watch.count());
  std::uint64_t gap = kGap;
  if (!driver.Call<decltype(cuMemAlloc)>("cuMemAlloc_v2", &memory, sizeof(numbers))) return;
  std::array<void*, 3> arguments = {&memory, &nanoseconds, &gap};
  const bool ran = REVEZA_CALL(driver, cuLaunchKernel, kernel, 1U, 1U, 1U, 1U, 1U, 1U, 0U, nullptr,
                               arguments.data(), nullptr) &&
                   driver.Call<decltype(cuMemcpyDtoH)>("cuMemcpyDtoH_v2", numbers.data(), memory,
                                                       sizeof(numbers));
  driver.Call<decltype(cuMemFree)>("cuMemFree_v2", memory);
  if (!ran) return;
  turns.watched = std::chrono::nanoseconds(numbers[0]);
  turns.preempted = std::chrono::nanoseconds(numbers[1]);
  turns.preemptions = numbers[2];
}

// Returns what NVML reports; nothing without NVML. The error says why the GPUs cannot be probed:
// less than `needed` may be free on one.
std::expected<std::vector<nvml::GpuReading>, std::string> FindRoom(const Subject& subject,
                                                                   Bytes needed) {
  const auto monitor = nvml::LoadNvml(subject.nvml.c_str());
  if (!monitor) return {};
  const auto gpus = (*monitor)->Read();
  if (!gpus) return std::unexpected("the free GPU memory is unknown");
  for (const nvml::GpuReading& gpu : *gpus) {
    if (gpu.total && gpu.used && *gpu.total - std::min(*gpu.used, *gpu.total) < needed) {
      return std::unexpected("less than " + FormatBytes(needed) + " of GPU memory is free");
    }
  }
  return *gpus;
}

Findings NotProbed(Id id, const std::string& observed, const std::string& why) {
  return {{.id = id, .severity = Severity::kNote, .observed = observed + why}};
}

}  // namespace

Result<std::vector<ContextCost>> MeasureContexts(const char* library) {
  HelperProcess other(library);
  return MeasureGpus<ContextCost>(library, [&](DriverCalls& driver, int index, ContextCost& cost) {
    Measure(driver, index, other, cost);
  });
}

Findings DiagnoseContexts(const std::vector<ContextCost>& gpus,
                          const std::vector<std::optional<std::size_t>>& processes) {
  Findings findings;
  for (std::size_t index = 0; index < gpus.size(); ++index) {
    const ContextCost& cost = gpus[index];
    const std::string name = fmt::format("GPU {} ({})", index, cost.gpu);
    Finding finding{
        .id = Id::kGpuContexts,
        .severity = Severity::kNote,
        .confidence = Confidence::kMeasured,
        .observed = "",
        .limit = fmt::format("{} of memory", FormatBytes(cost.total)),
        .why =
            "each process has a context (code, stacks, driver data) before it allocates anything; "
            "it cannot be swapped out, and grows with the kernels of a framework",
        .fix =
            "threads or streams of one process share one context; CUDA_MODULE_LOADING=LAZY loads "
            "only the kernels that are used; MPS makes contexts smaller"};
    if (!cost.taken) {
      finding.observed = fmt::format(
          "{}: the size of a context could not be measured: other processes changed the free "
          "memory",
          name);
      finding.confidence = Confidence::kRead;
      findings.push_back(std::move(finding));
      continue;
    }
    finding.observed =
        fmt::format("{}: a context takes {} before any allocation", name, FormatBytes(*cost.taken));
    const auto count = index < processes.size() ? processes[index] : std::nullopt;
    if (count && *count > 0) {
      const Bytes all = *cost.taken * *count;
      finding.observed +=
          fmt::format("; {} process{} take{} {} for contexts", *count, *count == 1 ? "" : "es",
                      *count == 1 ? "s" : "", FormatBytes(all));
      if (static_cast<double>(all) >= kMaxContextShare * static_cast<double>(cost.total)) {
        finding.severity = Severity::kWarning;
      }
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

Result<std::vector<TimeSlicing>> MeasureTimeSlicing(const char* library,
                                                    std::chrono::milliseconds watch) {
  return MeasureGpus<TimeSlicing>(
      library, [&](DriverCalls& driver, int, TimeSlicing& turns) { Watch(driver, watch, turns); });
}

Findings DiagnoseTimeSlicing(const std::vector<TimeSlicing>& gpus, bool mps) {
  Findings findings;
  for (std::size_t index = 0; index < gpus.size(); ++index) {
    const TimeSlicing& turns = gpus[index];
    if (turns.watched.count() <= 0) continue;
    const double share =
        static_cast<double>(turns.preempted.count()) / static_cast<double>(turns.watched.count());
    Finding finding{.id = Id::kGpuTurns,
                    .severity = share >= kMaxWaiting ? Severity::kWarning : Severity::kFine,
                    .confidence = Confidence::kMeasured,
                    .observed = fmt::format("GPU {} ({}): a kernel that ran for {} was preempted "
                                            "{} times, for {:.0f} % of the time",
                                            index, turns.gpu, FormatDuration(turns.watched),
                                            turns.preemptions, 100 * share)};
    if (share >= kMinNotable) {
      finding.why = "programs share the GPU by time slicing: what one gets, the others lack";
      finding.fix =
          "running one program at a time takes no longer in total; small kernels run concurrently "
          "under MPS, or as streams or batches of one process";
    } else if (mps) {
      finding.why = "under MPS programs run concurrently: the kernel is not preempted";
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

Findings CheckGpuContexts(const Subject& subject) {
  constexpr const char* kNotMeasured = "the size of a context was not measured: ";
  // Two contexts with room to spare.
  const auto gpus = FindRoom(subject, 2 * kGiB);
  if (!gpus) return NotProbed(Id::kGpuContexts, kNotMeasured, gpus.error());
  std::vector<std::optional<std::size_t>> processes;
  for (const nvml::GpuReading& gpu : *gpus) {
    processes.push_back(gpu.processes ? std::optional(gpu.processes->size()) : std::nullopt);
  }
  const auto contexts = MeasureContexts(subject.cuda.c_str());
  if (!contexts) return NotProbed(Id::kGpuContexts, kNotMeasured, contexts.error().message);
  return DiagnoseContexts(*contexts, processes);
}

Findings CheckGpuTurns(const Subject& subject) {
  constexpr const char* kNotRun = "no kernel was run on the GPU: ";
  constexpr std::chrono::milliseconds kWatch{50};
  // A context takes more than half of it.
  const auto gpus = FindRoom(subject, kGiB);
  if (!gpus) return NotProbed(Id::kGpuTurns, kNotRun, gpus.error());
  const auto turns = MeasureTimeSlicing(subject.cuda.c_str(), kWatch);
  if (!turns) return NotProbed(Id::kGpuTurns, kNotRun, turns.error().message);
  return DiagnoseTimeSlicing(*turns, IsMpsRunning(subject.root));
}

}  // namespace reveza::doctor
