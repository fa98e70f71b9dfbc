// The agent thread: talks to the daemon and executes its orders: closes and opens the gate, drains
// the GPU, swaps memory. It uses the application's own contexts (a context costs 0.6 GiB) and does
// not affect which context is current on the application's threads.
//
// Orders are executed one at a time; further messages queue in the socket. A swap-in proceeds in
// steps between messages, since its credit arrives meanwhile.
//
// The gate is in agent_gate.cc, contexts that leave in agent_contexts.cc, operation without a
// daemon (none, lost, or of another version) in agent_standalone.cc. Everything runs on the agent
// thread.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/interpose/connection.h"
#include "reveza/gpu/interpose/context_wait.h"
#include "reveza/gpu/wire/messages.h"

namespace reveza::interpose {

class Agent {
 public:
  explicit Agent(Client& client);
  // Never returns.
  void Run();

 private:
  struct Gpu {
    int ordinal = 0;
    std::uint32_t index = 0;  // assigned by the daemon
    CUuuid uuid{};
    Bytes total = 0;
    Bytes granule = swap::kGranularity;
    bool admitted = false;       // by the connected daemon
    bool granted = false;        // a context was admitted, by any daemon or standalone
    wire::HostBacked on_host{};  // as last sent
  };
  enum class GateState {
    kOpen,
    kClosed,
    kOpening,    // ordered to open; the remaining physical memory is being created
    kAdmitting,  // closes when a few submissions have passed
  };

  // ---- event loop ----
  int TimeoutMs() const;
  void Wait();
  void Receive() REQUIRES(client_.moving_mutex_);
  void Dispatch(wire::Type type) REQUIRES(client_.moving_mutex_);
  void ServeRequests();
  void SendHints();
  void SendContexts() REQUIRES(client_.requests_mutex_);
  Bytes RequestSize(const GrowthRequest& request, const Gpu& gpu) const;
  Bytes TakeExcess(int ordinal);
  void SendGrowth() REQUIRES(client_.requests_mutex_);
  void Periodic() REQUIRES(client_.moving_mutex_);

  // ---- orders ----
  void Handle(const wire::Welcome& welcome);
  void Handle(const wire::Refused& refused);
  void Handle(const wire::WaitMessage& why);
  void Handle(const wire::ContextAdmitted& admitted);
  void Handle(const wire::ContextRefused& refused);
  void Handle(const wire::GrowthAnswer& answer);
  void Handle(const wire::OpenGate& order);
  void Handle(const wire::CloseGate& order);
  void Close(const wire::CloseGate& order);
  void Handle(const wire::Evict& order) REQUIRES(client_.moving_mutex_);
  void Handle(const wire::SwapIn& order);
  void Handle(const wire::Credit& credit);
  void Handle(const wire::Contention& contention);
  void Handle(const wire::PrepareArena& order);
  void Handle(const wire::Policy& policy);
  void Handle(const wire::QueueBound& bound);
  void Handle(const wire::ReleaseContexts& order);
  void Handle(const wire::RestoreContexts& order);

  void ContinueSwapIn() REQUIRES(client_.moving_mutex_);
  void ContinueOpening() REQUIRES(client_.moving_mutex_);
  void FinishOpening();
  // Closes the gate when the admitted submissions have passed and another thread waits.
  void ContinueAdmitting();
  // Closes the gate and drains the GPU. Returns why it could not, or nullopt.
  class Deadline;
  std::optional<wire::DrainFailure> CloseAndDrain(Deadline& deadline, std::int64_t* closed_us);
  // Waits until the GPU has completed all submitted work. Returns false after `limit_us`.
  bool Drain(std::int64_t limit_us);
  bool DrainContext(CUcontext context, std::int64_t until_us);
  bool CaptureInProgress();
  void CheckIdle();
  void ReportUsage();
  void SendAccount(Gpu& gpu, Bytes returned);
  static void OnFreed(void* agent, int ordinal, Bytes bytes);
  // Names the limit that prevents eviction, once.
  void WarnOfHostMemory();
  Gpu& AddGpu(const ContextRequest& request);
  Gpu* FindGpu(int ordinal);
  Gpu* FindIndex(std::uint32_t index);

  // ---- a program larger than the card (agent_placement.cc) ----
  bool RoundIsDue();
  void ContinuePlacement() REQUIRES(client_.moving_mutex_);
  void BeginPeriod();
  void AskForRoom(const Gpu& gpu);
  void ReportRound(Gpu& gpu, const swap::RoundReport& report);
  // Tells the daemon, if what is on the host has changed since it was told.
  void ReportOnHost(Gpu& gpu, Bytes bytes);

  // ---- contexts (agent_contexts.cc) ----
  // Returns whether the driver can take them off the card, as far as is known.
  bool ContextsCanMove() const;
  bool HoldsOnlyContexts() const;
  wire::ContextRelease TakeContextsOff();
  void BringContextsBack();
  bool HasRoomForContexts() const;
  // Returns false if there is no room, or it is unknown.
  bool BringContextsBackStandalone();

  // ---- connection, and operation without a daemon ----
  void Connect();
  bool Bounded() const { return contention_ || always_bounded_ || places_; }
  void OnConnectionLost();
  bool InGracePeriod() const;
  void TryReconnect();
  void TryResumeStandalone() REQUIRES(client_.moving_mutex_);
  bool SwapInStandalone() REQUIRES(client_.moving_mutex_);
  void GrantAllStandalone();
  void GrantContextsStandalone() REQUIRES(client_.requests_mutex_);
  // Where a daemon is required: the requests wait for one, or fail if it has refused the program.
  void HoldContexts() REQUIRES(client_.requests_mutex_);

  // The name of a GPU's lock.
  struct GpuLockName {
    explicit GpuLockName(const CUuuid& uuid);
    char text[4 + 2 * sizeof(CUuuid::bytes) + 1];
  };

  Client& client_;
  Connection connection_;
  ContextWait context_wait_{client_.swap_driver_, client_.contexts_, client_.captures_};
  std::vector<Gpu> gpus_;

  bool welcomed_ = false;
  bool refused_ = false;  // by the daemon; do not reconnect
  // REVEZA_REQUIRE_DAEMON=1: no context without a daemon. A program that has one keeps it.
  const bool requires_daemon_;
  int connect_error_ = 0;  // errno of the last attempt
  bool warned_standalone_ = false;
  bool warned_host_memory_ = false;
  std::int64_t next_attempt_us_ = 0;
  std::int64_t grace_until_us_ = 0;  // after losing the daemon, which may be restarting

  GateState gate_ = GateState::kOpen;
  bool contention_ = false;
  bool always_bounded_ = false;  // the queue, even without contention
  std::int64_t idle_after_us_ = 0;
  std::uint64_t last_submissions_ = 0;
  std::int64_t last_submission_us_ = 0;
  bool idle_reported_ = false;

  wire::Policy policy_{};  // asked for, or set by the last daemon
  bool holds_sent_ = false;

  bool swapping_in_ = false;
  bool contexts_away_ = false;
  bool open_ordered_ = false;              // by the daemon, possibly before the first context
  bool retry_soon_ = false;                // the last step failed in the driver
  wire::CloseGate admission_{};            // of kAdmitting
  std::uint32_t failed_close_serial_ = 0;  // of the last DrainFailed
  std::uint32_t swap_in_serial_ = 0;
  std::int64_t swap_in_began_us_ = 0;  // time of the first copy
  Bytes swapped_in_ = 0;
  bool gate_request_sent_ = false;
  std::int64_t next_usage_us_ = 0;

  bool places_ = false;  // some memory is on the host at its place
  std::int64_t next_round_us_ = 0;
  std::int64_t round_interval_us_ = 0;
  int quiet_rounds_ = 0;              // in a row
  std::int64_t period_began_us_ = 0;  // of which the next round measures the progress
  std::uint64_t period_submissions_ = 0;
  double link_bytes_per_us_ = 0;  // as a kernel reads over it
  std::int64_t next_ask_us_ = 0;
  std::int64_t ask_interval_us_ = 0;
  int full_rounds_ = 0;  // in a row
  bool warned_full_ = false;
};

}  // namespace reveza::interpose
