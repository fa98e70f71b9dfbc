// Core: client messages to scheduler events.
#include <algorithm>
#include <array>
#include <utility>

#include "reveza/gpu/daemon/core.h"

namespace reveza::daemon {
namespace {

// One request per waiting thread; more is a protocol violation.
constexpr std::size_t kMaxPendingGrowths = 4096;

// NVML answers in milliseconds, if at all.
constexpr Time kMeasurementLimit = std::chrono::seconds(1);

Time FromMicroseconds(std::uint32_t microseconds) {
  return std::chrono::microseconds(microseconds);
}

}  // namespace

bool Core::OnMessage(ClientId id, wire::Type type, const void* packet, std::size_t size) {
  ClientEntry* client = Find(id);
  if (client == nullptr || client->violated_protocol) return false;
  if (client->measurement) {
    auto& packets = client->measurement->packets;
    if (packets.size() >= kMaxPendingGrowths) return false;
    packets.emplace_back(static_cast<const char*>(packet), size);
    return true;
  }
  const bool allowed = HandleNow(*client, type, packet);
  ApplyDecisions();
  return allowed;
}

bool Core::HandleNow(ClientEntry& client, wire::Type type, const void* packet) {
  // Not a second Hello, or a message of the daemon or the command line.
  bool allowed = false;
  wire::Dispatch<wire::ContextRequested, wire::ContextCreated, wire::GrowthRequested, wire::Account,
                 wire::GateRequested, wire::Idle, wire::GateClosed, wire::DrainFailed,
                 wire::Draining, wire::Evicted, wire::SwappedIn, wire::Resumed, wire::Unchanged,
                 wire::Yield, wire::Hold, wire::Policy, wire::ContextsReleased,
                 wire::ContextsRestored, wire::HostBacked>(
      type, packet, [&](const auto& message) { allowed = Handle(client, message); });
  return allowed;
}

std::optional<GpuId> Core::RegisterGpu(const Uuid& uuid, Bytes total) {
  const std::size_t known = gpus_.size();
  const auto gpu = gpus_.Register(uuid, total);
  if (gpu && gpus_.size() > known) {
    const auto& config = gpus_.at(*gpu).config;
    logger_->info("GPU {} is {}: {} bytes, budget {}", *gpu, nvml::FormatUuid(uuid), config.total,
                  config.budget);
    scheduler_.SetGpu(clock_.Now(), *gpu, config);
  }
  return gpu;
}

bool Core::Handle(ClientEntry& client, const wire::ContextRequested& message) {
  const auto gpu = RegisterGpu(std::to_array(message.uuid), message.total);
  if (!gpu) return false;
  BeginSpan(client, EventKind::kWaitContext);
  scheduler_.ContextRequested(clock_.Now(), client.id, *gpu);
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::ContextCreated& message) {
  if (!client.admitted.contains(message.gpu)) return false;
  const auto known = client.measured_context.find(message.gpu);
  if (message.overhead == 0) {
    scheduler_.ContextCreated(clock_.Now(), client.id, message.gpu, 0);
    return true;
  }
  client.with_context.insert(message.gpu);
  if (known == client.measured_context.end()) {
    // Its process holds no other GPU memory yet, nor asks for any before it is measured.
    if (const std::uint64_t request = outbox_.RequestReadings()) {
      client.measurement = {request, message.gpu, message.overhead, clock_.Now(), {}};
      return true;
    }
  }
  FinishContext(client, message.gpu, message.overhead);
  return true;
}

void Core::FinishContext(ClientEntry& client, GpuId gpu, Bytes overhead) {
  const auto measured = client.measured_context.find(gpu);
  if (measured != client.measured_context.end()) {
    overhead = measured->second;
    SendAdmitted(client, gpu, overhead);
  }
  scheduler_.ContextCreated(clock_.Now(), client.id, gpu, overhead);
}

void Core::EndMeasurement(ClientEntry& client, std::optional<Bytes> measured) {
  const auto ended = std::exchange(client.measurement, std::nullopt);
  if (measured) client.measured_context[ended->gpu] = *measured;
  FinishContext(client, ended->gpu, ended->reported);
  for (const std::string& packet : ended->packets) {
    if (client.measurement) {  // of another GPU
      client.measurement->packets.push_back(packet);
      continue;
    }
    wire::Type type{};
    wire::Validate(packet.data(), packet.size(), &type);
    client.violated_protocol = !HandleNow(client, type, packet.data());
    if (client.violated_protocol) return;
  }
}

void Core::ExpireMeasurements() {
  for (auto& [id, client] : clients_) {
    if (!client.measurement || clock_.Now() - client.measurement->since < kMeasurementLimit) {
      continue;
    }
    logger_->warn("NVML does not tell the size of the context of client {}", id);
    EndMeasurement(client, std::nullopt);
  }
}

std::optional<Bytes> Core::MemoryOf(const ClientEntry& client, GpuId gpu,
                                    const GpuReadings& readings) const {
  if (!readings.gpus) return std::nullopt;
  for (const nvml::GpuReading& reading : *readings.gpus) {
    if (reading.uuid != gpus_.at(gpu).uuid || !reading.processes) continue;
    for (const nvml::GpuProcess& process : *reading.processes) {
      if (process.pid == client.pid && process.used && *process.used > 0) {
        return process.used;
      }
    }
  }
  return std::nullopt;
}

bool Core::Handle(ClientEntry& client, const wire::GrowthRequested& message) {
  if (!client.admitted.contains(message.gpu)) return false;
  if (client.growths.size() >= kMaxPendingGrowths) return false;
  client.growths.try_emplace(message.request, clock_.Now());
  scheduler_.GrowthRequested(clock_.Now(), client.id, message.request, message.gpu,
                             static_cast<scheduler::GrowthKind>(message.kind), message.bytes);
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::Account& message) {
  if (!client.admitted.contains(message.gpu)) return false;
  if (message.context == 0) client.with_context.erase(message.gpu);
  if (message.context != 0) client.with_context.insert(message.gpu);
  const auto measured = client.measured_context.find(message.gpu);
  const bool known = message.context != 0 && measured != client.measured_context.end();
  const scheduler::Footprint footprint = {message.resident, message.swapped, message.pinned,
                                          known ? measured->second : message.context};
  client.swapped[message.gpu] = message.swapped;
  if (ClientFacts* facts = events_.Facts(client.id)) {
    facts->memory = std::max(facts->memory, footprint.Swappable() + footprint.pinned);
    facts->context = std::max(facts->context, footprint.context);
  }
  scheduler_.AccountChanged(clock_.Now(), client.id, message.gpu, footprint,
                            message.credit_returned, message.arena);
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::GateRequested&) {
  BeginSpan(client, EventKind::kWait);
  scheduler_.GateRequested(clock_.Now(), client.id);
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::Idle&) {
  scheduler_.BecameIdle(clock_.Now(), client.id);
  return true;
}

bool Core::HandleExpiredClose(ClientEntry& client, std::uint32_t serial, bool gate_is_closed) {
  if (client.expired_close == 0 || client.expired_close != serial) return false;
  client.expired_close = 0;
  // The scheduler considers the gate open. If a newer CloseGate is pending, its answer decides.
  if (gate_is_closed && !client.close) Send(client, wire::OpenGate{serial, 0});
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::GateClosed& message) {
  if (HandleExpiredClose(client, message.serial, true)) return true;
  if (client.close && client.close->serial == message.serial) {
    client.close.reset();
    client.gate_open = false;
    EndSpan(client, EventKind::kDrain);
    for (const GpuId gpu : client.admitted) {
      HandoverStats& stats = handovers_[gpu];
      ++stats.drain_count;
      stats.drain += FromMicroseconds(message.gate_us) + FromMicroseconds(message.drain_us);
    }
  }
  scheduler_.GateClosed(clock_.Now(), client.id, message.serial);
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::DrainFailed& message) {
  if (HandleExpiredClose(client, message.serial, false)) return true;
  if (client.close && client.close->serial == message.serial) {
    client.close.reset();
    client.gate_open = true;
    EndSpan(client, EventKind::kDrain, EventKind::kDrainFailed);
    BeginSpan(client, EventKind::kSlice);
  }
  scheduler_.DrainFailed(clock_.Now(), client.id, message.serial);
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::Draining& message) {
  scheduler_.Draining(clock_.Now(), client.id, message.serial);
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::Unchanged& message) {
  const auto order = client.evict.find(message.gpu);
  if (order != client.evict.end() && order->second.serial == message.serial) {
    order->second.unchanged = message.bytes;
  }
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::HostBacked& message) {
  if (!client.admitted.contains(message.gpu)) return false;
  ClientEntry::OnHost& on_host = client.on_host[message.gpu];
  on_host.bytes = message.bytes;
  on_host.hot = message.hot;
  on_host.full = message.full == 1;
  on_host.pass = std::chrono::microseconds(message.pass_us);
  on_host.promoted += message.promoted;
  on_host.demoted += message.demoted;
  for (const auto& [kind, bytes] :
       {std::pair{EventKind::kPromote, message.promoted}, {EventKind::kDemote, message.demoted}}) {
    if (bytes > 0) events_.Add({kind, message.gpu, client.id, clock_.Now(), Time{0}, bytes});
  }
  Bytes sum = 0;
  for (const auto& [gpu, one] : client.on_host) sum += one.bytes;
  scheduler_.HostBacked(clock_.Now(), client.id, sum);
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::Evicted& message) {
  if (!client.admitted.contains(message.gpu)) return false;
  const auto order = client.evict.find(message.gpu);
  if (order != client.evict.end() && order->second.serial == message.serial) {
    const auto [serial, sent, unchanged] = order->second;
    client.evict.erase(order);
    events_.Add({EventKind::kCopyOut, message.gpu, client.id, sent, clock_.Now() - sent,
                 message.copied, unchanged});
    client.copied_out += message.copied;
    client.unchanged += unchanged;
    jobs_.at(client.job).copied_out += message.copied;
    HandoverStats& stats = handovers_[message.gpu];
    if (message.freed != 0) {
      ++stats.out_count;
      stats.out += FromMicroseconds(message.out_us);
      stats.bytes_out += message.copied;
      stats.bytes_unchanged += unchanged;
    }
  }
  if (message.failure != wire::EvictFailure::kNone) {
    logger_->warn(
        "client {} failed to evict: {}", client.id,
        message.failure == wire::EvictFailure::kHostMemory ? "no host memory" : "driver error");
  }
  scheduler_.Evicted(clock_.Now(), client.id, message.serial, message.gpu,
                     static_cast<scheduler::EvictFailure>(message.failure));
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::SwappedIn& message) {
  if (client.swap_in && client.swap_in->serial == message.serial) {
    client.swap_in.reset();
    const GpuId first = client.admitted.empty() ? 0 : *client.admitted.begin();
    EndSpan(client, EventKind::kCopyIn, EventKind::kCopyIn, first, message.copied);
    client.copied_in += message.copied;
    jobs_.at(client.job).copied_in += message.copied;
    CountSwappedIn(client, message);
  }
  scheduler_.SwappedIn(clock_.Now(), client.id, message.serial);
  return true;
}

void Core::CountSwappedIn(const ClientEntry& client, const wire::SwappedIn& message) {
  Bytes swapped = 0;
  for (const auto& [gpu, bytes] : client.swapping_in) swapped += bytes;
  Bytes left = message.copied;
  for (const auto& [gpu, bytes] : client.swapping_in) {
    if (left == 0) break;
    // The message has the sum of all GPUs. Memory that needs no copy is shared out likewise.
    const double share = static_cast<double>(bytes) / static_cast<double>(swapped);
    swapped -= bytes;
    const Bytes copied =
        swapped == 0 ? left : static_cast<Bytes>(share * static_cast<double>(left));
    left -= copied;
    if (copied == 0) continue;
    HandoverStats& stats = handovers_[gpu];
    ++stats.in_count;
    stats.in += FromMicroseconds(message.in_us);
    stats.bytes_in += copied;
  }
}

bool Core::Handle(ClientEntry& client, const wire::ContextsReleased& message) {
  const bool released = message.outcome == wire::ContextRelease::kReleased;
  if (message.serial == 0) {
    if (!released || !client.admitted.empty()) return false;
    client.contexts_away = true;
    scheduler_.ContextsAway(clock_.Now(), client.id);
    return true;
  }
  client.contexts_away = released;
  EndSpan(client, EventKind::kContextsOut);
  if (message.outcome == wire::ContextRelease::kRefused) {
    logger_->info("client {} keeps its contexts on the card: {} (pid {})", client.id, client.name,
                  client.pid);
  }
  scheduler_.ContextsReleased(clock_.Now(), client.id, message.serial,
                              static_cast<scheduler::ContextRelease>(message.outcome));
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::ContextsRestored& message) {
  client.contexts_away = false;
  client.restore.reset();
  EndSpan(client, EventKind::kContextsIn);
  scheduler_.ContextsRestored(clock_.Now(), client.id, message.serial);
  return true;
}

bool Core::Handle(ClientEntry& client, const wire::Resumed& message) {
  const auto gpu = RegisterGpu(std::to_array(message.uuid), message.total);
  if (!gpu || client.admitted.contains(*gpu)) return false;
  client.admitted.insert(*gpu);
  if (message.context != 0) client.with_context.insert(*gpu);
  const scheduler::Footprint footprint = {message.resident, message.swapped, message.pinned,
                                          message.context};
  SendAdmitted(client, *gpu, 0);
  scheduler_.ClientResumed(clock_.Now(), client.id, *gpu, footprint, message.credit,
                           client.gate_open);
  return true;
}

}  // namespace reveza::daemon
