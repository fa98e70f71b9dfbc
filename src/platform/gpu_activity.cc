#include "platform/gpu_activity.h"

#include <nvml.h>

#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "platform/nvml_library.h"

namespace reveza::platform {
namespace {

struct Calls {
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
  NvmlActivity(NvmlLibrary library, const Calls& calls)
      : library_(std::move(library)),
        calls_(calls),
        request_(std::make_unique<nvmlGpmMetricsGet_t>()) {}

  std::vector<GpuActivityReading> Read() override {
    std::vector<GpuActivityReading> readings;
    const auto devices = library_.Devices();
    if (!devices) return readings;
    for (const auto& device : *devices) {
      if (!device) continue;
      GpuActivityReading reading;
      reading.uuid = device->uuid;
      nvmlUtilization_t rates{};
      if (calls_.rates != nullptr && calls_.rates(device->handle, &rates) == NVML_SUCCESS) {
        reading.some_resident = rates.gpu / 100.0;
      }
      if (calls_.HasGpm()) ReadGpm(device->handle, reading);
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

  // The samples are given back before the library goes.
  NvmlLibrary library_;
  Calls calls_;
  std::map<Uuid, Sample> before_;
  std::unique_ptr<nvmlGpmMetricsGet_t> request_;  // large: kept, not on the stack
};

}  // namespace

Result<std::unique_ptr<GpuActivity>> LoadGpuActivity(const char* name) {
  auto library = NvmlLibrary::Load(name);
  if (!library) return std::unexpected(library.error());
  Calls calls;
  calls.rates =
      library->Find<decltype(nvmlDeviceGetUtilizationRates)>("nvmlDeviceGetUtilizationRates");
  calls.support = library->Find<decltype(nvmlGpmQueryDeviceSupport)>("nvmlGpmQueryDeviceSupport");
  calls.sample_new = library->Find<decltype(nvmlGpmSampleAlloc)>("nvmlGpmSampleAlloc");
  calls.sample_free = library->Find<decltype(nvmlGpmSampleFree)>("nvmlGpmSampleFree");
  calls.sample_take = library->Find<decltype(nvmlGpmSampleGet)>("nvmlGpmSampleGet");
  calls.metrics = library->Find<decltype(nvmlGpmMetricsGet)>("nvmlGpmMetricsGet");
  return std::make_unique<NvmlActivity>(std::move(*library), calls);
}

}  // namespace reveza::platform
