#include "runner/decide/visible_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace reveza::runner {
namespace {

char Lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool BeginsWith(std::string_view text, std::string_view begin) {
  return text.size() >= begin.size() &&
         std::ranges::equal(text.substr(0, begin.size()), begin, {}, Lower, Lower);
}

std::string_view Trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<unsigned> NumberOf(std::string_view name) {
  unsigned number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  if (read.ec != std::errc() || read.ptr != name.data() + name.size()) return std::nullopt;
  return number;
}

// The only one that the name fits.
const platform::GpuReading* Find(std::string_view name,
                                 std::span<const platform::GpuReading> gpus) {
  if (const auto number = NumberOf(name)) {
    return *number < gpus.size() ? &gpus[*number] : nullptr;
  }
  constexpr std::string_view kBegin = "GPU-";
  if (!BeginsWith(name, kBegin) || name.size() == kBegin.size()) return nullptr;
  const platform::GpuReading* found = nullptr;
  for (const auto& gpu : gpus) {
    if (!BeginsWith(platform::FormatUuid(gpu.uuid), name)) continue;
    if (found != nullptr) return nullptr;
    found = &gpu;
  }
  return found;
}

bool AreAlike(std::span<const platform::GpuReading> gpus) {
  return std::ranges::all_of(gpus, [&](const auto& gpu) { return gpu.name == gpus[0].name; });
}

VisibleGpus Doubt(std::string why) { return {std::nullopt, std::move(why)}; }

}  // namespace

VisibleGpus FindVisibleGpus(const DeviceNames& names, std::span<const platform::GpuReading> gpus) {
  if (gpus.empty()) return {};
  std::vector<platform::Uuid> only;
  std::string_view left = names.visible;
  for (bool more = true; more;) {
    const auto comma = left.find(',');
    const std::string_view name = Trimmed(left.substr(0, comma));
    more = comma != std::string_view::npos;
    if (more) left.remove_prefix(comma + 1);
    // CUDA reads no further.
    if (name.empty() || name == "-1") break;
    if (NumberOf(name) && names.order != "PCI_BUS_ID" && !AreAlike(gpus)) {
      return Doubt(fmt::format(
          "CUDA_VISIBLE_DEVICES={}: CUDA counts the fastest GPU first and NVML does not, so all "
          "are looked at; name them by UUID, or set CUDA_DEVICE_ORDER=PCI_BUS_ID",
          names.visible));
    }
    const auto* gpu = Find(name, gpus);
    if (gpu == nullptr) {
      return Doubt(fmt::format(
          "CUDA_VISIBLE_DEVICES={}: NVML shows no GPU of the name '{}', so all are looked at",
          names.visible, name));
    }
    only.push_back(gpu->uuid);
  }
  return {std::move(only), {}};
}

}  // namespace reveza::runner
