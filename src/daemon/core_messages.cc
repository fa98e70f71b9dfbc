// What clients say, as events of the scheduler.
#include <cstring>

#include "daemon/core.h"

namespace reveza::daemon {
namespace {

Time FromMicroseconds(std::uint32_t microseconds) {
  return std::chrono::microseconds(microseconds);
}

}  // namespace

bool Core::OnMessage(ClientId id, wire::Type type, const void* packet) {
  ClientEntry* found = Find(id);
  if (found == nullptr) return false;
  ClientEntry& client = *found;
  bool allowed = true;
  switch (type) {
    case wire::Type::kContextWanted:
      allowed = OnContextWanted(client, wire::View<wire::ContextWanted>(packet));
      break;
    case wire::Type::kContextMade:
      allowed = OnContextMade(client, wire::View<wire::ContextMade>(packet));
      break;
    case wire::Type::kGrowthWanted:
      allowed = OnGrowthWanted(client, wire::View<wire::GrowthWanted>(packet));
      break;
    case wire::Type::kAccount:
      allowed = OnAccount(client, wire::View<wire::Account>(packet));
      break;
    case wire::Type::kGateWanted:
      OnGateWanted(client);
      break;
    case wire::Type::kIdle:
      scheduler_.BecameIdle(clock_.Now(), id);
      break;
    case wire::Type::kGateClosed:
      OnGateClosed(client, wire::View<wire::GateClosed>(packet));
      break;
    case wire::Type::kDrainFailed:
      OnDrainFailed(client, wire::View<wire::DrainFailed>(packet));
      break;
    case wire::Type::kEvicted:
      allowed = OnEvicted(client, wire::View<wire::Evicted>(packet));
      break;
    case wire::Type::kSwappedIn:
      OnSwappedIn(client, wire::View<wire::SwappedIn>(packet));
      break;
    case wire::Type::kResumed:
      allowed = OnResumed(client, wire::View<wire::Resumed>(packet));
      break;
    default:  // a second Hello, or what only the daemon or the command line may say
      allowed = false;
  }
  CarryOut();
  return allowed;
}

std::optional<GpuId> Core::RegisterGpu(const Uuid& uuid, Bytes total) {
  const std::size_t known = gpus_.size();
  const auto gpu = gpus_.Register(uuid, total);
  if (gpu && gpus_.size() > known) {
    const auto& config = gpus_.at(*gpu).config;
    logger_->info("GPU {} is {}: {} bytes, budget {}", *gpu, platform::FormatUuid(uuid),
                  config.total, config.budget);
    scheduler_.SetGpu(clock_.Now(), *gpu, config);
  }
  return gpu;
}

bool Core::OnContextWanted(ClientEntry& client, const wire::ContextWanted& message) {
  Uuid uuid;
  std::memcpy(uuid.data(), message.uuid, uuid.size());
  const auto gpu = RegisterGpu(uuid, message.total);
  if (!gpu) return false;
  client.wanted.insert(*gpu);
  Begin(client, EventKind::kWaitContext);
  scheduler_.ContextWanted(clock_.Now(), client.id, *gpu);
  return true;
}

bool Core::OnContextMade(ClientEntry& client, const wire::ContextMade& message) {
  if (!client.admitted.contains(message.gpu)) return false;
  Bytes overhead = message.overhead;
  if (overhead != 0) {
    client.with_context.insert(message.gpu);
    if (const auto measured = MeasureContext(client, message.gpu)) {
      overhead = *measured;
      client.measured_context[message.gpu] = overhead;
      SendAdmitted(client.id, message.gpu, overhead);
    }
  }
  scheduler_.ContextMade(clock_.Now(), client.id, message.gpu, overhead);
  return true;
}

// A context has just been made and its client holds nothing else yet: what the process uses is it.
std::optional<Bytes> Core::MeasureContext(const ClientEntry& client, GpuId gpu) {
  if (monitor_ == nullptr) return std::nullopt;
  const auto readings = monitor_->Read();
  if (!readings) return std::nullopt;
  for (const platform::GpuReading& reading : *readings) {
    if (reading.uuid != gpus_.at(gpu).uuid || !reading.processes) continue;
    for (const platform::GpuProcess& process : *reading.processes) {
      if (process.pid == client.peer.pid && process.used && *process.used > 0) {
        return process.used;
      }
    }
  }
  return std::nullopt;
}

bool Core::OnGrowthWanted(ClientEntry& client, const wire::GrowthWanted& message) {
  if (!client.admitted.contains(message.gpu)) return false;
  // As many threads may wait as a process has; more is nonsense.
  if (client.growths.size() >= 4096) return false;
  client.growths.try_emplace(message.request, clock_.Now());
  scheduler_.GrowthWanted(clock_.Now(), client.id, message.request, message.gpu,
                          message.kind == wire::GrowthKind::kPinned
                              ? scheduler::GrowthKind::kPinned
                              : scheduler::GrowthKind::kSwappable,
                          message.bytes);
  return true;
}

bool Core::OnAccount(ClientEntry& client, const wire::Account& message) {
  if (!client.admitted.contains(message.gpu)) return false;
  if (message.context == 0) client.with_context.erase(message.gpu);
  if (message.context != 0) client.with_context.insert(message.gpu);
  const auto measured = client.measured_context.find(message.gpu);
  const bool known = message.context != 0 && measured != client.measured_context.end();
  const scheduler::Footprint footprint = {message.resident, message.swapped, message.pinned,
                                          known ? measured->second : message.context};
  scheduler_.AccountChanged(clock_.Now(), client.id, message.gpu, footprint,
                            message.credit_returned, message.arena);
  return true;
}

void Core::OnGateWanted(ClientEntry& client) {
  Begin(client, EventKind::kWait);
  scheduler_.GateWanted(clock_.Now(), client.id);
}

bool Core::WasGivenUp(ClientEntry& client, std::uint32_t serial, bool gate_is_closed) {
  if (client.given_up == 0 || client.given_up != serial) return false;
  client.given_up = 0;
  // To the scheduler its gate is open. With a newer order on its way, that one's answer will tell.
  if (gate_is_closed && !client.close) Send(client.id, wire::OpenGate{serial, 0});
  return true;
}

void Core::OnGateClosed(ClientEntry& client, const wire::GateClosed& message) {
  if (WasGivenUp(client, message.serial, true)) return;
  if (client.close && client.close->serial == message.serial) {
    client.close.reset();
    client.gate_open = false;
    End(client, EventKind::kDrain);
    for (const GpuId gpu : client.admitted) {
      HandoverSums& sums = handovers_[gpu];
      ++sums.drains;
      sums.drain += FromMicroseconds(message.gate_us) + FromMicroseconds(message.drain_us);
    }
  }
  scheduler_.GateClosed(clock_.Now(), client.id, message.serial);
}

void Core::OnDrainFailed(ClientEntry& client, const wire::DrainFailed& message) {
  if (WasGivenUp(client, message.serial, false)) return;
  if (client.close && client.close->serial == message.serial) {
    client.close.reset();
    client.gate_open = true;
    End(client, EventKind::kDrain, EventKind::kDrainFailed);
    Begin(client, EventKind::kSlice);
  }
  scheduler_.DrainFailed(clock_.Now(), client.id, message.serial,
                         static_cast<scheduler::DrainFailure>(message.reason));
}

bool Core::OnEvicted(ClientEntry& client, const wire::Evicted& message) {
  if (!client.admitted.contains(message.gpu)) return false;
  const auto order = client.evict.find(message.gpu);
  if (order != client.evict.end() && order->second.serial == message.serial) {
    const Time sent = order->second.sent;
    client.evict.erase(order);
    events_.Add(
        {EventKind::kCopyOut, message.gpu, client.id, sent, clock_.Now() - sent, message.copied});
    client.copied_out += message.copied;
    HandoverSums& sums = handovers_[message.gpu];
    if (message.freed != 0) {
      ++sums.outs;
      sums.out += FromMicroseconds(message.out_us);
      sums.bytes_out += message.copied;
    }
  }
  if (message.failure != wire::EvictFailure::kNone) {
    logger_->warn("client {} cannot be moved out: {}", client.id,
                  message.failure == wire::EvictFailure::kHostMemory ? "no host memory"
                                                                     : "the driver refused");
  }
  scheduler_.Evicted(clock_.Now(), client.id, message.serial, message.gpu, message.freed,
                     static_cast<scheduler::EvictFailure>(message.failure));
  return true;
}

void Core::OnSwappedIn(ClientEntry& client, const wire::SwappedIn& message) {
  if (client.swap_in && client.swap_in->serial == message.serial) {
    client.swap_in.reset();
    const GpuId first = client.admitted.empty() ? 0 : *client.admitted.begin();
    End(client, EventKind::kCopyIn, EventKind::kCopyIn, first, message.copied);
    client.copied_in += message.copied;
    HandoverSums& sums = handovers_[first];
    if (message.copied != 0) {
      ++sums.ins;
      sums.in += FromMicroseconds(message.in_us);
      sums.bytes_in += message.copied;
    }
  }
  scheduler_.SwappedIn(clock_.Now(), client.id, message.serial);
}

bool Core::OnResumed(ClientEntry& client, const wire::Resumed& message) {
  Uuid uuid;
  std::memcpy(uuid.data(), message.uuid, uuid.size());
  const auto gpu = RegisterGpu(uuid, message.total);
  if (!gpu || client.admitted.contains(*gpu)) return false;
  client.wanted.insert(*gpu);
  client.admitted.insert(*gpu);
  if (message.context != 0) client.with_context.insert(*gpu);
  const scheduler::Footprint footprint = {message.resident, message.swapped, message.pinned,
                                          message.context};
  SendAdmitted(client.id, *gpu, 0);
  scheduler_.ClientResumed(clock_.Now(), client.id, *gpu, footprint, message.credit,
                           client.gate_open);
  return true;
}

}  // namespace reveza::daemon
