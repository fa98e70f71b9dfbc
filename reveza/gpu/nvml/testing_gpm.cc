// Activity calls of the fake NVML in testing_nvml.cc: the first GPU supports GPM, the second only
// utilisation rates. Samples are numbered consecutively.
#include <nvml.h>

#include <cstddef>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct nvmlGpmSample_st {
  int number = 0;
};

namespace {
bool IsFirst(nvmlDevice_t device) { return reinterpret_cast<std::size_t>(device) == 1; }
int taken = 0;
int alive = 0;
}  // namespace

EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t, nvmlUtilization_t* rates) {
  rates->gpu = 100;
  rates->memory = 7;
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t* support) {
  support->isSupportedDevice = IsFirst(device) ? 1 : 0;
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t* sample) {
  *sample = new nvmlGpmSample_st;
  ++alive;
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample) {
  delete sample;
  --alive;
  return NVML_SUCCESS;
}

EXPORT nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t, nvmlGpmSample_t sample) {
  sample->number = ++taken;
  return NVML_SUCCESS;
}

// Number of samples not freed yet.
EXPORT int reveza_testing_samples_alive() { return alive; }

EXPORT nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t* request) {
  if (request->sample2->number != request->sample1->number + 1) return NVML_ERROR_INVALID_ARGUMENT;
  for (unsigned i = 0; i < request->numMetrics; ++i) {
    nvmlGpmMetric_t& metric = request->metrics[i];
    metric.nvmlReturn = NVML_SUCCESS;
    switch (metric.metricId) {
      case NVML_GPM_METRIC_SM_UTIL:
        metric.value = 12.5;
        break;
      case NVML_GPM_METRIC_PCIE_TX_PER_SEC:
        metric.value = 3;
        break;
      default:
        metric.nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        break;
    }
  }
  return NVML_SUCCESS;
}
