// The daemon without its sockets: translates client messages into scheduler events and decisions
// into messages. Adds client identities, timeouts for unanswered orders, and wait reasons for
// users.
//
// Not thread-safe; runs in the daemon's loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/log.h"
#include "common/platform/clock.h"
#include "reveza/gpu/daemon/clients.h"
#include "reveza/gpu/daemon/events.h"
#include "reveza/gpu/daemon/gpu_reader.h"
#include "reveza/gpu/daemon/gpus.h"
#include "reveza/gpu/daemon/settings.h"
#include "reveza/gpu/scheduler/scheduler.h"
#include "reveza/gpu/wire/codec.h"
#include "reveza/gpu/wire/messages.h"

namespace reveza::daemon {

// Receives messages to clients. Must not call back into the Core.
class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void Send(ClientId client, const void* packet, std::size_t size) = 0;
  // Requests a reading of all GPUs that begins from now on; Core::OnReadings() follows. Returns the
  // number of the request, greater than those before; 0 if there are no readings.
  virtual std::uint64_t RequestReadings() = 0;
};

class MpsControls;

class Core {
 public:
  // All references must outlive the core. `usage` may be null.
  Core(const Settings& settings, Bytes host_budget, const platform::Clock& clock,
       usage::Sink* usage, Outbox& outbox, Logger logger);
  // Reports what was used until now. Call before the core is destroyed.
  void ReportUsage();

  // Handles the first message of a client.
  void OnHello(ClientId client, const Peer& peer, const wire::Hello& hello);
  // Handles a later, validated message. Returns false on a protocol violation; drop the client
  // then.
  bool OnMessage(ClientId client, wire::Type type, const void* packet, std::size_t size);

  // Handles readings that answer all requests up to their number.
  void OnReadings(const GpuReadings& readings);

  // The process has exited; everything it held is free.
  void OnDeath(ClientId client);
  // The connection is lost but the process is alive and may hold GPU memory, which counts as
  // external until OnDetachedDeath() or the next Hello of the process.
  void OnDisconnected(ClientId client);
  void OnDetachedDeath(pid_t pid);

  // Changes the policy of a job, if user `uid` may. Returns the answer as JSON.
  std::string OnJobRequest(uid_t uid, const wire::JobRequest& request);

  void Tick();
  // Returns when to call Tick() next.
  std::optional<Time> NextWakeup() const;

  std::size_t clients() const { return clients_.size(); }
  bool HasClient(ClientId client) const { return clients_.contains(client); }
  const std::map<pid_t, ClientEntry>& detached() const { return detached_; }
  // Returns whether a client of the job is connected.
  bool HasClientsOf(JobId job) const { return jobs_.contains(job); }
  // `mps` may be null.
  std::string StatusJson(const MpsControls* mps = nullptr) const;
  std::string TraceJson() const;
  // Returns events from number `since` on, and what has begun and not ended.
  std::string EventsJson(std::uint64_t since) const;

 private:
  // ---- messages (core_messages.cc) ----
  // Return false on a protocol violation.
  bool Handle(ClientEntry& client, const wire::ContextRequested& message);
  bool Handle(ClientEntry& client, const wire::ContextCreated& message);
  bool Handle(ClientEntry& client, const wire::GrowthRequested& message);
  bool Handle(ClientEntry& client, const wire::Account& message);
  bool Handle(ClientEntry& client, const wire::GateRequested& message);
  bool Handle(ClientEntry& client, const wire::Idle& message);
  bool Handle(ClientEntry& client, const wire::GateClosed& message);
  bool Handle(ClientEntry& client, const wire::DrainFailed& message);
  bool Handle(ClientEntry& client, const wire::Draining& message);
  bool Handle(ClientEntry& client, const wire::Evicted& message);
  bool Handle(ClientEntry& client, const wire::SwappedIn& message);
  // Divides what came in among the client's GPUs, in their statistics.
  void CountSwappedIn(const ClientEntry& client, const wire::SwappedIn& message);
  bool Handle(ClientEntry& client, const wire::Resumed& message);
  bool Handle(ClientEntry& client, const wire::Unchanged& message);
  bool Handle(ClientEntry& client, const wire::HostBacked& message);
  bool Handle(ClientEntry& client, const wire::Yield& message);
  bool Handle(ClientEntry& client, const wire::Hold& message);
  bool Handle(ClientEntry& client, const wire::ContextsReleased& message);
  bool Handle(ClientEntry& client, const wire::ContextsRestored& message);
  bool Handle(ClientEntry& client, const wire::Policy& message);
  bool HandleNow(ClientEntry& client, wire::Type type, const void* packet);
  void FinishContext(ClientEntry& client, GpuId gpu, Bytes overhead);
  // Ends the client's measurement and handles what it has sent meanwhile.
  void EndMeasurement(ClientEntry& client, std::optional<Bytes> measured);
  std::optional<Bytes> MemoryOf(const ClientEntry& client, GpuId gpu,
                                const GpuReadings& readings) const;
  void SendAdmitted(const ClientEntry& client, GpuId number, Bytes credit);
  std::optional<GpuId> RegisterGpu(const Uuid& uuid, Bytes total);
  // Handles a late answer to a CloseGate that has timed out. Returns false if it is none.
  bool HandleExpiredClose(ClientEntry& client, std::uint32_t serial, bool gate_is_closed);

  // ---- decisions (core_orders.cc) ----
  void ApplyDecisions();
  void Apply(ClientEntry& client, const scheduler::AdmitContext& decision);
  void Apply(ClientEntry& client, const scheduler::RefuseContext& decision);
  void Apply(ClientEntry& client, const scheduler::AnswerGrowth& decision);
  void Apply(ClientEntry& client, const scheduler::OpenGate& decision);
  void Apply(ClientEntry& client, const scheduler::CloseGate& decision);
  void Apply(ClientEntry& client, const scheduler::Evict& decision);
  void Apply(ClientEntry& client, const scheduler::SwapIn& decision);
  void Apply(ClientEntry& client, const scheduler::GiveCredit& decision);
  void Apply(ClientEntry& client, const scheduler::SetContention& decision);
  void Apply(ClientEntry& client, const scheduler::SetQueueBound& decision);
  void Apply(ClientEntry& client, const scheduler::PrepareArena& decision);
  void Apply(ClientEntry& client, const scheduler::ReleaseContexts& decision);
  void Apply(ClientEntry& client, const scheduler::RestoreContexts& decision);
  void SendRestore(ClientEntry& client);
  // Sends the restores for which the readings show room; requests readings for the others.
  void SendRestores(const GpuReadings& readings);
  // Returns the free memory of the GPUs for which it is known.
  std::map<GpuId, Bytes> FreeMemory(const GpuReadings& readings) const;
  void SendWaitReasons();

  // ---- policies (core_policy.cc) ----
  void SetPolicy(JobId job, const scheduler::Policy& policy);
  // Gives the job of its first client the policy of its class.
  void ApplyClass(const ClientEntry& client, const Identity& identity);
  void ApplyQuota(const ClientEntry& client, const Peer& peer);
  // Returns the jobs that a request may mean.
  std::vector<JobId> FindJobs(const std::string& name) const;
  // Returns the GPU memory to present to a program of the job.
  Bytes PresentedBudget(JobId job, GpuId gpu) const;
  void SampleShares();
  std::map<JobId, GpuShare> Shares(const std::vector<scheduler::JobView>& jobs) const;

  // ---- core_usage.cc ----
  // Reports what the job used since the last report.
  void ReportUsage(const scheduler::JobView& view);

  // ---- core.cc ----
  void SetExternal(GpuId gpu);
  void Forget(ClientId client);
  void ForgetDetached(pid_t pid);
  void ExpireUnansweredCloses();
  void ObserveGpus(const std::vector<nvml::GpuReading>& readings);
  void ExpireMeasurements();
  ClientEntry* Find(ClientId client);
  std::string NameOfJob(JobId job, const std::vector<scheduler::JobView>& jobs) const;
  WaitContext WaitContextOf(const scheduler::JobView& job,
                            const std::vector<scheduler::JobView>& jobs,
                            const std::vector<scheduler::ClientView>& views) const;
  void BeginSpan(ClientEntry& client, EventKind kind);
  // Adds the finished event to the trace. Returns its duration.
  Time EndSpan(ClientEntry& client, EventKind kind, EventKind as, GpuId gpu = 0, Bytes bytes = 0);
  Time EndSpan(ClientEntry& client, EventKind kind) { return EndSpan(client, kind, kind); }

  static std::uint32_t Microseconds(Time duration) {
    return static_cast<std::uint32_t>(duration / std::chrono::microseconds(1));
  }

  // Sends a message in the version of the client, unless that does not know it.
  template <typename T>
  void Send(const ClientEntry& client, const T& message) {
    if (!wire::IsKnownTo<T>(client.version)) return;
    char packet[wire::kPacketSize<T>];
    outbox_.Send(client.id, packet, wire::Encode(message, packet, client.version));
  }

  const Settings& settings_;
  const Bytes host_budget_;
  const platform::Clock& clock_;
  usage::Sink* const usage_;
  Outbox& outbox_;
  const Logger logger_;
  const Time started_;
  scheduler::Scheduler scheduler_;
  GpuTable gpus_;
  EventLog events_;
  std::map<ClientId, ClientEntry> clients_;
  std::map<JobId, JobEntry> jobs_;
  std::map<pid_t, ClientEntry> detached_;
  std::map<GpuId, HandoverStats> handovers_;
  Time next_poll_{0};
  std::uint64_t poll_ = 0;  // request of readings that are observed; 0: none
  Time next_usage_report_{0};
};

}  // namespace reveza::daemon
