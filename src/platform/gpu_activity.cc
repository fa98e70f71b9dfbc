#include "platform/gpu_activity.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <nvml.h>

#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace reveza::platform {
namespace {

struct Calls {
  decltype(&nvmlInit_v2) init = nullptr;
  decltype(&nvmlShutdown) shutdown = nullptr;
  decltype(&nvmlDeviceGetCount_v2) count = nullptr;
  decltype(&nvmlDeviceGetHandleByIndex_v2) handle = nullptr;
  decltype(&nvmlDeviceGetUUID) uuid = nullptr;
  decltype(&nvmlDeviceGetUtilizationRates) rates = nullptr;
  decltype(&nvmlGpmQueryDeviceSupport) support = nullptr;
  decltype(&nvmlGpmSampleAlloc) sample_new = nullptr;
  decltype(&nvmlGpmSampleFree) sample_free = nullptr;
  decltype(&nvmlGpmSampleGet) sample_take = nullptr;
  decltype(&nvmlGpmMetricsGet) metrics = nullptr;

  bool HasGpm() const {
    return support != nullptr && sample_new != nullptr && sample_free != nullptr &&
           sample_take != nullptr && metrics != nullptr;
  }
};

template <typename Function>
void Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

struct FreeSample {
  decltype(&nvmlGpmSampleFree) free = nullptr;
  void operator()(nvmlGpmSample_t sample) const { free(sample); }
};
using Sample = std::unique_ptr<nvmlGpmSample_st, FreeSample>;

std::optional<double> Value(const nvmlGpmMetric_t& metric, double scale) {
  if (metric.nvmlReturn != NVML_SUCCESS || !std::isfinite(metric.value)) return std::nullopt;
  return metric.value * scale;
}

class NvmlActivity : public GpuActivity {
 public:
  NvmlActivity(Library library, const Calls& calls)
      : library_(std::move(library)),
        calls_(calls),
        request_(std::make_unique<nvmlGpmMetricsGet_t>()) {}
  ~NvmlActivity() override {
    before_.clear();
    calls_.shutdown();
  }

  std::vector<GpuActivityReading> Read() override {
    std::vector<GpuActivityReading> readings;
    unsigned count = 0;
    if (calls_.count(&count) != NVML_SUCCESS) return readings;
    for (unsigned index = 0; index < count; ++index) {
      nvmlDevice_t device{};
      char uuid[96] = {};
      if (calls_.handle(index, &device) != NVML_SUCCESS ||
          calls_.uuid(device, uuid, sizeof(uuid)) != NVML_SUCCESS) {
        continue;
      }
      const auto parsed = ParseUuid(uuid);
      if (!parsed) continue;
      GpuActivityReading reading;
      reading.uuid = *parsed;
      nvmlUtilization_t rates{};
      if (calls_.rates != nullptr && calls_.rates(device, &rates) == NVML_SUCCESS) {
        reading.some_resident = rates.gpu / 100.0;
      }
      if (calls_.HasGpm()) ReadGpm(device, reading);
      readings.push_back(reading);
    }
    return readings;
  }

 private:
  void ReadGpm(nvmlDevice_t device, GpuActivityReading& reading) {
    nvmlGpmSupport_t support{};
    support.version = NVML_GPM_SUPPORT_VERSION;
    if (calls_.support(device, &support) != NVML_SUCCESS || support.isSupportedDevice == 0) return;
    nvmlGpmSample_t raw = nullptr;
    if (calls_.sample_new(&raw) != NVML_SUCCESS) return;
    Sample now(raw, FreeSample{calls_.sample_free});
    if (calls_.sample_take(device, now.get()) != NVML_SUCCESS) return;
    Sample& before = before_[reading.uuid];
    if (before) Compare(before.get(), now.get(), reading);
    before = std::move(now);
  }

  void Compare(nvmlGpmSample_t before, nvmlGpmSample_t now, GpuActivityReading& reading) {
    constexpr std::array wanted = {NVML_GPM_METRIC_SM_UTIL, NVML_GPM_METRIC_PCIE_TX_PER_SEC,
                                   NVML_GPM_METRIC_PCIE_RX_PER_SEC};
    *request_ = {};
    request_->version = NVML_GPM_METRICS_GET_VERSION;
    request_->numMetrics = wanted.size();
    request_->sample1 = before;
    request_->sample2 = now;
    for (std::size_t i = 0; i < wanted.size(); ++i) request_->metrics[i].metricId = wanted[i];
    if (calls_.metrics(request_.get()) != NVML_SUCCESS) return;
    constexpr double mebibyte = 1 << 20;
    reading.sm_active = Value(request_->metrics[0], 0.01);
    reading.link_out = Value(request_->metrics[1], mebibyte);
    reading.link_in = Value(request_->metrics[2], mebibyte);
  }

  Library library_;
  Calls calls_;
  std::map<Uuid, Sample> before_;
  std::unique_ptr<nvmlGpmMetricsGet_t> request_;  // large: kept, not on the stack
};

}  // namespace

Result<std::unique_ptr<GpuActivity>> LoadGpuActivity(const char* name) {
  Library library(dlopen(name, RTLD_NOW | RTLD_LOCAL));
  if (!library) {
    return Fail(Error::Code::kUnavailable, fmt::format("cannot load {}: {}", name, dlerror()));
  }
  Calls calls;
  Find(library.get(), "nvmlInit_v2", calls.init);
  Find(library.get(), "nvmlShutdown", calls.shutdown);
  Find(library.get(), "nvmlDeviceGetCount_v2", calls.count);
  Find(library.get(), "nvmlDeviceGetHandleByIndex_v2", calls.handle);
  Find(library.get(), "nvmlDeviceGetUUID", calls.uuid);
  Find(library.get(), "nvmlDeviceGetUtilizationRates", calls.rates);
  Find(library.get(), "nvmlGpmQueryDeviceSupport", calls.support);
  Find(library.get(), "nvmlGpmSampleAlloc", calls.sample_new);
  Find(library.get(), "nvmlGpmSampleFree", calls.sample_free);
  Find(library.get(), "nvmlGpmSampleGet", calls.sample_take);
  Find(library.get(), "nvmlGpmMetricsGet", calls.metrics);
  if (calls.init == nullptr || calls.shutdown == nullptr || calls.count == nullptr ||
      calls.handle == nullptr || calls.uuid == nullptr) {
    return Fail(Error::Code::kUnavailable, fmt::format("{} is not an NVML that we know", name));
  }
  const nvmlReturn_t result = calls.init();
  if (result != NVML_SUCCESS) {
    return Fail(Error::Code::kUnavailable,
                fmt::format("NVML does not start: error {}", static_cast<int>(result)));
  }
  return std::make_unique<NvmlActivity>(std::move(library), calls);
}

}  // namespace reveza::platform
