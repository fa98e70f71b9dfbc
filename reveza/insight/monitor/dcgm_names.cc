#include "reveza/insight/monitor/dcgm_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace reveza::monitor {
namespace {

using enum MetricType;

constexpr const char* kLabels = "gpu,UUID,device,modelName,Hostname";
constexpr std::array kDcgmMetrics = {
    Metric{"DCGM_FI_DEV_FB_TOTAL", kGauge, kLabels, "memory of the GPU (MiB)"},
    Metric{"DCGM_FI_DEV_FB_FREE", kGauge, kLabels, "free memory of the GPU (MiB)"},
    Metric{"DCGM_FI_DEV_FB_USED", kGauge, "gpu,UUID,device,modelName,Hostname,program",
           "used memory of the GPU (MiB), by program"},
    Metric{"DCGM_FI_DEV_GPU_UTIL", kGauge, kLabels,
           "share of time with at least one kernel resident (%)"},
    Metric{"DCGM_FI_PROF_SM_ACTIVE", kGauge, kLabels,
           "share of cycles in which a multiprocessor had work (0 to 1)"},
    Metric{"DCGM_FI_PROF_PCIE_TX_BYTES", kGauge, kLabels, "PCIe traffic out of the GPU (bytes/s)"},
    Metric{"DCGM_FI_PROF_PCIE_RX_BYTES", kGauge, kLabels, "PCIe traffic into the GPU (bytes/s)"},
};
enum DcgmIndex : std::size_t { kFbTotal, kFbFree, kFbUsed, kGpuUtil, kSmActive, kPcieOut, kPcieIn };

using Labels = std::vector<std::pair<std::string, std::string>>;

double InMib(Bytes bytes) { return static_cast<double>(bytes) / static_cast<double>(kMiB); }

// Returns what programs have of a GPU, by their names.
std::map<std::string, Bytes> ResidentOn(const Snapshot& snapshot, std::uint64_t gpu) {
  std::map<std::string, Bytes> resident;
  for (const Client& client : snapshot.clients) {
    for (const ClientMemory& part : client.gpus) {
      if (part.gpu == gpu && part.resident) resident[client.name] += *part.resident;
    }
  }
  return resident;
}

void AddMemory(std::vector<MetricSample>& samples, const Snapshot& snapshot, const Gpu& gpu,
               const Labels& labels) {
  if (!gpu.total || !gpu.used) return;
  const auto add = [&](DcgmIndex metric, Bytes bytes, const Labels& of) {
    samples.push_back({metric, of, InMib(bytes), std::nullopt});
  };
  add(kFbTotal, *gpu.total, labels);
  add(kFbFree, *gpu.total - std::min(*gpu.total, *gpu.used), labels);
  Bytes rest = *gpu.used;
  const auto of = [&](const std::string& program) {
    Labels with = labels;
    with.emplace_back("program", program);
    return with;
  };
  for (const auto& [program, bytes] : ResidentOn(snapshot, *gpu.index)) {
    add(kFbUsed, bytes, of(program));
    rest -= std::min(rest, bytes);
  }
  add(kFbUsed, rest, of(""));
}

}  // namespace

std::span<const Metric> DcgmMetrics() { return kDcgmMetrics; }

std::vector<MetricSample> DcgmSamples(const Snapshot& snapshot, const std::string& host) {
  std::vector<MetricSample> samples;
  for (const Gpu& gpu : snapshot.gpus) {
    if (!gpu.index) continue;
    const Labels labels = {{"gpu", std::to_string(*gpu.index)},
                           {"UUID", gpu.uuid},
                           {"device", fmt::format("nvidia{}", *gpu.index)},
                           {"modelName", gpu.name},
                           {"Hostname", host}};
    AddMemory(samples, snapshot, gpu, labels);
    const auto add = [&](DcgmIndex metric, const std::optional<double>& value, double factor = 1) {
      if (value) samples.push_back({metric, labels, *value * factor, std::nullopt});
    };
    add(kGpuUtil, gpu.some_resident, 100);
    add(kSmActive, gpu.sm_active);
    add(kPcieOut, gpu.link_out);
    add(kPcieIn, gpu.link_in);
  }
  return samples;
}

}  // namespace reveza::monitor
