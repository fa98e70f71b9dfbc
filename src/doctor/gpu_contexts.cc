#include "doctor/gpu_contexts.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/unique_fd.h"
#include "base/units.h"
#include "doctor/driver_calls.h"

namespace reveza::doctor {
namespace {

// Contexts that take so much of a card leave too little for what they are for.
constexpr double kMuch = 0.25;

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

bool MakeContext(DriverCalls& driver, int index) {
  CUdevice device{};
  CUcontext context{};
  return REVEZA_CALL(driver, cuDeviceGet, &device, index) &&
         REVEZA_CALL(driver, cuDevicePrimaryCtxRetain, &context, device) &&
         REVEZA_CALL(driver, cuCtxSetCurrent, context);
}

// The other process: makes a context on each GPU that it is told, and says when it is there.
[[noreturn]] void MakeOnRequest(const char* library, const UniqueFd& socket) {
  void* loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) _exit(1);
  DriverCalls driver(loaded);
  if (!REVEZA_CALL(driver, cuInit, 0U)) _exit(1);
  while (const auto index = Receive(socket)) {
    if (!Send(socket, MakeContext(driver, *index) ? 1 : 0)) break;
  }
  _exit(0);
}

class OtherProcess {
 public:
  // Before this process has loaded the driver, which does not survive a fork.
  explicit OtherProcess(const char* library) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
    UniqueFd own(ends[0]);
    const UniqueFd theirs(ends[1]);
    pid_ = fork();
    if (pid_ == 0) {
      own.Reset();
      MakeOnRequest(library, theirs);
    }
    socket_ = std::move(own);
  }
  ~OtherProcess() {
    socket_.Reset();
    while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  bool MakesContext(int index) { return pid_ > 0 && Send(socket_, index) && Receive(socket_) == 1; }

 private:
  pid_t pid_ = -1;
  UniqueFd socket_;
};

// Free memory, when it is the same several times in a row: nobody else is at it.
std::optional<std::size_t> SteadyFree(DriverCalls& driver, std::size_t& total) {
  constexpr int kTries = 20;
  constexpr int kSame = 3;
  std::size_t last = 0;
  int same = 0;
  for (int i = 0; i < kTries; ++i) {
    std::size_t free = 0;
    if (!driver.Call<decltype(cuMemGetInfo)>("cuMemGetInfo_v2", &free, &total)) return std::nullopt;
    same = free == last ? same + 1 : 1;
    if (same == kSame) return free;
    last = free;
    poll(nullptr, 0, 2);
  }
  return std::nullopt;
}

bool Measure(DriverCalls& driver, int index, OtherProcess& other, ContextCost& cost) {
  CUdevice device{};
  std::array<char, 128> name{};
  if (!REVEZA_CALL(driver, cuDeviceGet, &device, index) ||
      !REVEZA_CALL(driver, cuDeviceGetName, name.data(), static_cast<int>(name.size()), device) ||
      !MakeContext(driver, index)) {
    return false;
  }
  cost.gpu = name.data();
  std::size_t total = 0;
  const auto before = SteadyFree(driver, total);
  cost.total = total;
  if (before && other.MakesContext(index)) {
    const auto after = SteadyFree(driver, total);
    if (after && *after < *before) cost.taken = *before - *after;
  }
  driver.Call<decltype(cuDevicePrimaryCtxRelease)>("cuDevicePrimaryCtxRelease_v2", device);
  return true;
}

}  // namespace

Result<std::vector<ContextCost>> MeasureContexts(const char* library) {
  OtherProcess other(library);
  // Never closed: the driver leaves threads behind, and this process ends soon.
  void* loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    return Fail(Error::Code::kUnavailable, fmt::format("cannot load {}: {}", library, dlerror()));
  }
  DriverCalls driver(loaded);
  int count = 0;
  std::vector<ContextCost> gpus;
  if (REVEZA_CALL(driver, cuInit, 0U) && REVEZA_CALL(driver, cuDeviceGetCount, &count)) {
    for (int index = 0; index < count; ++index) {
      ContextCost cost;
      if (!Measure(driver, index, other, cost)) break;
      gpus.push_back(std::move(cost));
    }
  }
  if (driver.failed()) return Fail(Error::Code::kUnavailable, driver.Failure());
  return gpus;
}

Findings JudgeContexts(const std::vector<ContextCost>& gpus,
                       const std::vector<std::optional<std::size_t>>& processes) {
  Findings findings;
  for (std::size_t index = 0; index < gpus.size(); ++index) {
    const ContextCost& cost = gpus[index];
    const std::string name = fmt::format("GPU {} ({})", index, cost.gpu);
    Finding finding{.id = Id::kGpuContexts,
                    .severity = Severity::kNote,
                    .sure = Sureness::kMeasured,
                    .observed = "",
                    .limit = fmt::format("{} of memory", FormatBytes(cost.total)),
                    .why =
                        "a context (code, stacks, what the driver needs) is there before a "
                        "process allocates anything, each process has its own, and none can be "
                        "swapped out; with the kernels of a framework it grows",
                    .fix =
                        "threads or streams of one process share one context; "
                        "CUDA_MODULE_LOADING=LAZY loads only the kernels that are used; MPS "
                        "makes contexts smaller"};
    if (!cost.taken) {
      finding.observed = fmt::format(
          "{}: what a context takes could not be measured: others took or gave back memory", name);
      finding.sure = Sureness::kRead;
      findings.push_back(std::move(finding));
      continue;
    }
    finding.observed = fmt::format("{}: a context takes {} before anything is allocated", name,
                                   FormatBytes(*cost.taken));
    const auto count = index < processes.size() ? processes[index] : std::nullopt;
    if (count && *count > 0) {
      const Bytes all = *cost.taken * *count;
      finding.observed +=
          fmt::format("; {} process{} pay{} {} for that", *count, *count == 1 ? "" : "es",
                      *count == 1 ? "s" : "", FormatBytes(all));
      if (static_cast<double>(all) >= kMuch * static_cast<double>(cost.total)) {
        finding.severity = Severity::kWarning;
      }
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace reveza::doctor
