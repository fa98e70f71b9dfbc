#include "runner/decide/gpu_books.h"

#include <algorithm>
#include <utility>

#include "monitor/json_fields.h"

namespace reveza::runner {

using monitor::ArrayAt;
using monitor::CountAt;
using monitor::ObjectAt;
using monitor::PidAt;
using monitor::TextAt;

GpuBooks ReadGpuBooks(const nlohmann::json& status, bool pids_are_ours) {
  GpuBooks books;
  books.budget = CountAt(status, "gpu_budget");
  for (const auto& gpu : ArrayAt(status, "gpus")) {
    const auto uuid = platform::ParseUuid(TextAt(gpu, "uuid"));
    const auto budget = CountAt(gpu, "budget");
    const auto credit = CountAt(gpu, "credit");
    if (!uuid || !budget || !credit) continue;
    const Bytes total = std::min(*budget, CountAt(gpu, "total").value_or(*budget));
    const Bytes used = *credit + CountAt(gpu, "external").value_or(0);
    books.gpus.push_back({*uuid, total, std::min(used, total)});
  }
  if (!pids_are_ours) return books;
  for (const auto& client : ArrayAt(status, "clients")) {
    const auto pid = static_cast<pid_t>(PidAt(client, "pid"));
    if (pid == 0) continue;
    const auto& footprint = ObjectAt(client, "footprint");
    for (const char* part : {"resident", "swapped", "pinned", "context"}) {
      books.clients[pid] += CountAt(footprint, part).value_or(0);
    }
  }
  return books;
}

std::optional<std::vector<GpuMemory>> WithBooks(std::optional<std::vector<GpuMemory>> seen,
                                                const GpuBooks& books) {
  if (seen && books.budget) {
    for (GpuMemory& gpu : *seen) gpu.total = std::min(gpu.total, *books.budget);
  }
  for (const GpuMemory& gpu : books.gpus) {
    if (!seen) seen.emplace();
    const auto same = std::ranges::find(*seen, gpu.uuid, &GpuMemory::uuid);
    if (same == seen->end()) {
      seen->push_back(gpu);
    } else {
      *same = gpu;
    }
  }
  return seen;
}

}  // namespace reveza::runner
