#include "reveza/gpu/nvml/gpu_activity.h"

#include <nvml.h>

#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "reveza/gpu/nvml/nvml_library.h"

namespace reveza::nvml {
namespace {

struct GpmCalls {
  const NvmlLibrary& library;
  decltype(&nvmlGpmQueryDeviceSupport) support = REVEZA_NVML(library, nvmlGpmQueryDeviceSupport);
  decltype(&nvmlGpmSampleAlloc) sample_alloc = REVEZA_NVML(library, nvmlGpmSampleAlloc);
  decltype(&nvmlGpmSampleFree) sample_free = REVEZA_NVML(library, nvmlGpmSampleFree);
  decltype(&nvmlGpmSampleGet) sample_get = REVEZA_NVML(library, nvmlGpmSampleGet);
  decltype(&nvmlGpmMetricsGet) metrics = REVEZA_NVML(library, nvmlGpmMetricsGet);

  bool Complete() const {
    return support != nullptr && sample_alloc != nullptr && sample_free != nullptr &&
           sample_get != nullptr && metrics != nullptr;
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
  explicit NvmlActivity(NvmlLibrary library)
      : library_(std::move(library)),
        calls_{library_},
        request_(std::make_unique<nvmlGpmMetricsGet_t>()) {}

  std::vector<GpuActivityReading> Read() override {
    std::vector<GpuActivityReading> readings;
    const auto devices = library_.Devices();
    if (!devices) return readings;
    for (const auto& device : *devices) {
      if (!device) continue;
      GpuActivityReading reading;
      reading.uuid = device->uuid;
      auto* get_rates = REVEZA_NVML(library_, nvmlDeviceGetUtilizationRates);
      if (const auto rates = library_.Get(get_rates, device->handle)) {
        reading.some_resident = rates->gpu / 100.0;
      }
      if (calls_.Complete()) ReadGpm(device->handle, reading);
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
    if (calls_.sample_alloc(&raw) != NVML_SUCCESS) return;
    Sample now(raw, FreeSample{calls_.sample_free});
    if (calls_.sample_get(device, now.get()) != NVML_SUCCESS) return;
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

  // Destroyed last: freeing the samples calls into it.
  NvmlLibrary library_;
  const GpmCalls calls_;
  std::map<Uuid, Sample> before_;
  std::unique_ptr<nvmlGpmMetricsGet_t> request_;  // large: kept, not on the stack
};

}  // namespace

Result<std::unique_ptr<GpuActivity>> LoadGpuActivity(const char* name) {
  ASSIGN_OR_RETURN(auto library, NvmlLibrary::Load(name));
  return std::make_unique<NvmlActivity>(std::move(library));
}

}  // namespace reveza::nvml
