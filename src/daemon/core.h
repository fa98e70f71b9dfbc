// The daemon without its sockets: messages of clients become the scheduler's events, its decisions
// become messages. One to one; what is added here is who a client is, what it has not answered,
// and the words for people.
//
// Thread-safety: none; the daemon's loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "daemon/clients.h"
#include "daemon/events.h"
#include "daemon/gpus.h"
#include "daemon/settings.h"
#include "daemon/why.h"
#include "platform/clock.h"
#include "platform/gpu_monitor.h"
#include "scheduler/scheduler.h"
#include "wire/codec.h"
#include "wire/messages.h"

namespace reveza::daemon {

// Where messages to clients go. An outbox never calls back.
class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void Send(ClientId client, const void* packet, std::size_t size) = 0;
};

class Core {
 public:
  // All references outlive the core. `monitor` may be null.
  Core(const Settings& settings, Bytes host_budget, const platform::Clock& clock,
       platform::GpuMonitor* monitor, Outbox& outbox, Logger logger);

  // The first message of a client. false: it cannot be taken (and was told why).
  bool OnHello(ClientId client, const Peer& peer, const wire::Hello& hello);
  // A later one, already validated. false: no client may say this now; drop it.
  bool OnMessage(ClientId client, wire::Type type, const void* packet);

  // The process has ended: all it had is free.
  void OnDeath(ClientId client);
  // The connection is gone, but the process lives and may hold GPU memory: its books stay, as
  // memory that is outside, until OnLoneDeath or until the process says Hello again.
  void OnLost(ClientId client);
  void OnLoneDeath(pid_t pid);

  void Tick();
  // When Tick is to be called next.
  std::optional<Time> NextWakeup() const;

  std::size_t clients() const { return clients_.size(); }
  bool HasClient(ClientId client) const { return clients_.contains(client); }
  const std::map<pid_t, ClientEntry>& lone() const { return lone_; }
  std::string StatusJson() const;
  std::string TraceJson() const { return events_.ToJson(); }

 private:
  // ---- messages (core_messages.cc) ----
  bool OnContextWanted(ClientEntry& client, const wire::ContextWanted& message);
  bool OnContextMade(ClientEntry& client, const wire::ContextMade& message);
  std::optional<Bytes> MeasureContext(const ClientEntry& client, GpuId gpu);
  void SendAdmitted(ClientId id, GpuId number, Bytes credit);
  bool OnGrowthWanted(ClientEntry& client, const wire::GrowthWanted& message);
  bool OnAccount(ClientEntry& client, const wire::Account& message);
  void OnGateWanted(ClientEntry& client);
  void OnGateClosed(ClientEntry& client, const wire::GateClosed& message);
  void OnDrainFailed(ClientEntry& client, const wire::DrainFailed& message);
  bool OnEvicted(ClientEntry& client, const wire::Evicted& message);
  void OnSwappedIn(ClientEntry& client, const wire::SwappedIn& message);
  bool OnResumed(ClientEntry& client, const wire::Resumed& message);
  std::optional<GpuId> RegisterGpu(const Uuid& uuid, Bytes total);
  // A late answer to an order that we had stopped waiting for.
  bool WasGivenUp(ClientEntry& client, std::uint32_t serial, bool gate_is_closed);

  // ---- decisions (core_orders.cc) ----
  void CarryOut();
  void Do(const scheduler::AdmitContext& decision);
  void Do(const scheduler::AnswerGrowth& decision);
  void Do(const scheduler::OpenGate& decision);
  void Do(const scheduler::CloseGate& decision);
  void Do(const scheduler::Evict& decision);
  void Do(const scheduler::SwapIn& decision);
  void Do(const scheduler::GiveCredit& decision);
  void Do(const scheduler::SetContention& decision);
  void Do(const scheduler::PrepareArena& decision);
  void TellWhy();

  // ---- the rest (core.cc) ----
  void SetExternal(GpuId gpu);
  void Forget(ClientId client);
  void ForgetLone(pid_t pid);
  void GiveUpOnSilence();
  void PollMonitor();
  ClientEntry* Find(ClientId client);
  std::string NameOfJob(JobId job, const std::vector<scheduler::JobView>& jobs) const;
  WhyWorld WorldOf(const scheduler::JobView& job, const std::vector<scheduler::JobView>& jobs,
                   const std::vector<scheduler::ClientView>& views) const;
  void Begin(ClientEntry& client, EventKind kind);
  // Writes what began into the trace; how long it took.
  Time End(ClientEntry& client, EventKind kind, EventKind as, GpuId gpu = 0, Bytes bytes = 0);
  Time End(ClientEntry& client, EventKind kind) { return End(client, kind, kind); }

  template <typename T>
  void Send(ClientId client, const T& message) {
    char packet[wire::kPacketSize<T>];
    outbox_.Send(client, packet, wire::Encode(message, packet));
  }

  const Settings& settings_;
  const Bytes host_budget_;
  const platform::Clock& clock_;
  platform::GpuMonitor* const monitor_;
  Outbox& outbox_;
  const Logger logger_;
  const Time started_;
  scheduler::Scheduler scheduler_;
  GpuTable gpus_;
  EventLog events_;
  std::map<ClientId, ClientEntry> clients_;
  std::map<pid_t, ClientEntry> lone_;
  std::map<GpuId, HandoverSums> handovers_;
  Time next_look_{0};
};

}  // namespace reveza::daemon
