#include "doctor/gpu_turns.h"

#include <array>

#include "base/units.h"
#include "doctor/driver_calls.h"

namespace reveza::doctor {
namespace {

// A thread that runs looks at the clock more often than once in this time.
constexpr std::uint64_t kGap = 20'000;  // ns
constexpr double kSome = 0.05;
constexpr double kMuch = 0.3;

// Three numbers behind `out`: nanoseconds watched, nanoseconds away, how often it was away.
constexpr const char* kWatch = R"(
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

bool Watch(DriverCalls& driver, int index, std::chrono::nanoseconds watch, Turns& turns) {
  CUdevice device{};
  CUcontext context{};
  CUmodule module{};
  CUfunction kernel{};
  CUdeviceptr memory{};
  std::array<char, 128> name{};
  if (!REVEZA_CALL(driver, cuDeviceGet, &device, index) ||
      !REVEZA_CALL(driver, cuDeviceGetName, name.data(), static_cast<int>(name.size()), device) ||
      !REVEZA_CALL(driver, cuDevicePrimaryCtxRetain, &context, device) ||
      !REVEZA_CALL(driver, cuCtxSetCurrent, context) ||
      !REVEZA_CALL(driver, cuModuleLoadData, &module, kWatch) ||
      !REVEZA_CALL(driver, cuModuleGetFunction, &kernel, module, "reveza_watch")) {
    return false;
  }
  std::array<std::uint64_t, 3> numbers{};
  auto nanoseconds = static_cast<std::uint64_t>(watch.count());
  std::uint64_t gap = kGap;
  if (!driver.Call<decltype(cuMemAlloc)>("cuMemAlloc_v2", &memory, sizeof(numbers))) return false;
  std::array<void*, 3> arguments = {&memory, &nanoseconds, &gap};
  const bool ran = REVEZA_CALL(driver, cuLaunchKernel, kernel, 1U, 1U, 1U, 1U, 1U, 1U, 0U, nullptr,
                               arguments.data(), nullptr) &&
                   driver.Call<decltype(cuMemcpyDtoH)>("cuMemcpyDtoH_v2", numbers.data(), memory,
                                                       sizeof(numbers));
  driver.Call<decltype(cuMemFree)>("cuMemFree_v2", memory);
  driver.Call<decltype(cuDevicePrimaryCtxRelease)>("cuDevicePrimaryCtxRelease_v2", device);
  if (!ran) return false;
  turns.gpu = name.data();
  turns.watched = std::chrono::nanoseconds(numbers[0]);
  turns.away = std::chrono::nanoseconds(numbers[1]);
  turns.times = numbers[2];
  return true;
}

}  // namespace

Result<std::vector<Turns>> MeasureTurns(const char* library, std::chrono::milliseconds watch) {
  // Never closed: the driver leaves threads behind, and this process ends soon.
  void* loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) {
    return Fail(Error::Code::kUnavailable, fmt::format("cannot load {}: {}", library, dlerror()));
  }
  DriverCalls driver(loaded);
  int count = 0;
  std::vector<Turns> gpus;
  if (REVEZA_CALL(driver, cuInit, 0U) && REVEZA_CALL(driver, cuDeviceGetCount, &count)) {
    for (int index = 0; index < count; ++index) {
      Turns turns;
      if (!Watch(driver, index, watch, turns)) break;
      gpus.push_back(std::move(turns));
    }
  }
  if (driver.failed()) return Fail(Error::Code::kUnavailable, driver.Failure());
  return gpus;
}

Findings JudgeTurns(const std::vector<Turns>& gpus, bool mps) {
  Findings findings;
  for (std::size_t index = 0; index < gpus.size(); ++index) {
    const Turns& turns = gpus[index];
    if (turns.watched.count() <= 0) continue;
    const double share =
        static_cast<double>(turns.away.count()) / static_cast<double>(turns.watched.count());
    Finding finding{.id = Id::kGpuTurns,
                    .severity = share >= kMuch ? Severity::kWarning : Severity::kFine,
                    .sure = Sureness::kMeasured,
                    .observed = fmt::format("GPU {} ({}): a kernel that watched for {} had to wait "
                                            "{} times, for {:.0f} % of it",
                                            index, turns.gpu, FormatDuration(turns.watched),
                                            turns.times, 100 * share),
                    .limit = "",
                    .why = "",
                    .fix = ""};
    if (share >= kSome) {
      finding.why = "the GPU is given to programs in turns: what one gets, the others lack";
      finding.fix =
          "one program at a time is as fast in all; small kernels of several run beside each other "
          "under MPS, or as streams or batches of one process";
    } else if (mps) {
      finding.why = "under MPS programs run beside each other: the kernel need not wait for them";
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace reveza::doctor
