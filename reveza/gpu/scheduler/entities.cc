#include "reveza/gpu/scheduler/entities.h"

#include <algorithm>

namespace reveza::scheduler {

bool Client::Evicting() const {
  return std::ranges::any_of(gpus,
                             [](const auto& entry) { return entry.second.evict_serial != 0; });
}

Bytes Client::Backed() const {
  Bytes sum = 0;
  for (const auto& [gpu, holding] : gpus) {
    const Bytes held = holding.footprint.resident + holding.footprint.Fixed();
    const Bytes filling = holding.credit > held ? holding.credit - held : 0;
    sum += std::min(holding.footprint.Swappable(), holding.backed + filling);
  }
  return sum;
}

bool Job::SharesGpuWith(const Job& other) const {
  return std::ranges::any_of(uses, [&](GpuId gpu) { return other.Uses(gpu); });
}

bool Job::AnyGateOpen() const {
  return std::ranges::any_of(clients,
                             [](const auto& entry) { return entry.second.gate != Gate::kClosed; });
}

bool Job::AllIdle() const {
  return std::ranges::all_of(
      clients, [](const auto& entry) { return entry.second.idle || entry.second.gpus.empty(); });
}

bool Job::Holds() const {
  return std::ranges::any_of(clients, [](const auto& entry) { return entry.second.holds; });
}

bool Job::Unresponsive() const {
  return std::ranges::any_of(clients, [](const auto& entry) { return entry.second.unresponsive; });
}

std::size_t Job::Growths() const {
  return SumOver(clients, [](const Client& client) { return client.growths; });
}

std::size_t Job::ContextRequests() const {
  return SumOver(clients, [](const Client& client) { return client.context_requests; });
}

bool Client::MayAllocate() const {
  return std::ranges::any_of(gpus, [](const auto& entry) { return entry.second.permitted > 0; });
}

}  // namespace reveza::scheduler
