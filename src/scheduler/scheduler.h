// Who runs, for how long, and whose memory moves. Decisions only: no clock, no I/O, no threads.
//
// The caller (the daemon, the simulator, a test) reports events with the time at which they
// happened, then takes the decisions and carries them out. Time is a duration since any fixed
// origin and never goes back.
//
// The one idea: *credit*. A client may hold as much physical memory of a GPU as it has credit for:
//
//     sum over clients of credit  <=  budget of the GPU                                     (I1)
//
// Contexts, memory that cannot move (pinned) and swappable memory all need credit. Growth, a
// context and a swap-in ask for it; an eviction, a free and a death give it back. A client runs
// (its gate is open) only while all its memory is resident. All clients of a job open and close
// together. docs/invariants.md has the full list; simulator/ checks it on random worlds.
//
// Thread-safety: none; one thread owns a Scheduler.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"

namespace reveza::scheduler {

using Time = std::chrono::nanoseconds;
using ClientId = std::uint64_t;
using JobId = std::uint64_t;
using GpuId = std::uint32_t;

struct Config {
  Bytes host_budget = 0;         // pinned host memory, for all clients together
  double handover_share = 0.05;  // a handover may take at most this share of a slice
  Time slice_floor = std::chrono::milliseconds(500);
  Time slice_ceiling = std::chrono::seconds(30);
  Time max_wait = std::chrono::seconds(120);  // beyond it fewer jobs rotate, the others queue
  Time drain_limit = std::chrono::seconds(2);
  Time drain_retry = std::chrono::seconds(1);     // after a failed drain; doubles up to the ceiling
  Time evict_retry = std::chrono::seconds(5);     // who could not evict is left alone for so long
  Time context_limit = std::chrono::seconds(60);  // a client that is given a context must make it
  Bytes context_estimate = 640 * kMiB;            // until one was measured on the GPU
  double link_estimate = 20e9;                    // bytes/s, until a handover was measured
  // After a client of an earlier daemon came, others may still come: nothing new is given for so
  // long.
  Time takeover_settles = std::chrono::seconds(1);
  // Processes outside come and go, and a client that ends is one until its memory is free: nobody
  // is told "out of memory" because of them before so long.
  Time outside_patience = std::chrono::seconds(30);
  // A job whose largest footprint did not rise for so long is taken to have all that it wants.
  Time growth_settles = std::chrono::seconds(10);
};

struct GpuConfig {
  Bytes total = 0;    // of the card
  Bytes budget = 0;   // what clients may hold together
  Bytes granule = 0;  // growth is asked for in no less than it, if it can be had
};

// ---- events ----

// The books of one client on one GPU, as it last reported them.
struct Footprint {
  Bytes resident = 0;  // swappable, in GPU memory
  Bytes swapped = 0;   // swappable, not in GPU memory
  Bytes pinned = 0;    // cannot move
  Bytes context = 0;
  Bytes Swappable() const { return resident + swapped; }
  Bytes Fixed() const { return pinned + context; }
  Bytes Need() const { return Swappable() + Fixed(); }
};

enum class GrowthKind { kSwappable, kPinned };
enum class DrainFailure { kLimit, kCapture, kInsideCall };
enum class EvictFailure { kNone, kHostMemory, kDriver };

// ---- decisions ----

struct AdmitContext {
  ClientId client;
  GpuId gpu;
  Bytes credit;  // reserved for it until ContextMade
};
// kLater: the job's gate is closed or closing, nothing is given; the client allocates virtually
// (swappable) or asks again once its gate is open (pinned).
enum class Growth { kRefused, kGranted, kLater };
struct AnswerGrowth {
  ClientId client;
  std::uint32_t request;
  GpuId gpu;
  Growth answer;
  Bytes credit;  // what was asked for when kGranted, else 0
};
struct OpenGate {
  ClientId client;
  std::uint32_t serial;
};
struct CloseGate {
  ClientId client;
  std::uint32_t serial;
  Time drain_limit;
};
struct Evict {
  ClientId client;
  GpuId gpu;
  Bytes bytes;
  std::uint32_t serial;
};
struct SwapIn {
  ClientId client;
  std::uint32_t serial;
};
struct GiveCredit {
  ClientId client;
  GpuId gpu;
  Bytes bytes;
};
struct SetContention {
  ClientId client;
  bool waiting;
  Time idle_after;  // ski-rental: what a handover costs
};
struct PrepareArena {
  ClientId client;
  Bytes bytes;
};
using Decision = std::variant<AdmitContext, AnswerGrowth, OpenGate, CloseGate, Evict, SwapIn,
                              GiveCredit, SetContention, PrepareArena>;

// ---- what status shows ----

enum class JobState {
  kQueued,    // not yet among those that take turns (admission)
  kIdle,      // gate closed, nobody at it
  kWaiting,   // gate closed, somebody at it, waits for its turn
  kEntering,  // memory is coming in
  kRunning,   // gate open
  kLeaving,   // gate is closing, queue is draining
};

enum class WaitReason {
  kNone,
  kTurn,           // others are in the slice
  kContext,        // another client makes its context, or there is no room for one more
  kGpuMemory,      // fixed memory of others leaves too little
  kHostMemory,     // what must leave has nowhere to go
  kUnpreemptible,  // the job in the slice does not drain
  kQueue,          // as many jobs rotate as max_wait allows
};

struct ClientView {
  ClientId id = 0;
  JobId job = 0;
  struct Gpu {
    GpuId gpu = 0;
    Footprint footprint;
    Bytes credit = 0;
  };
  std::vector<Gpu> gpus;
  Bytes arena = 0;
  bool gate_open = false;
  bool unpreemptible = false;
};

struct JobView {
  JobId id = 0;
  JobState state = JobState::kIdle;
  WaitReason why = WaitReason::kNone;
  JobId blocked_by = 0;     // 0: nobody in particular
  Time waiting_since{0};    // when state is kWaiting or kQueued
  Time slice_ends{0};       // when kRunning and somebody waits
  Time ran{0};              // total time with an open gate
  std::uint64_t turns = 0;  // times that the gate opened
  std::vector<ClientId> clients;
};

struct GpuView {
  GpuId id = 0;
  GpuConfig config;
  Bytes external = 0;    // held by processes outside Reveza
  Bytes credit_out = 0;  // sum of all credit
  Time handover{0};      // measured, moving average; 0: none yet
};

class Scheduler {
 public:
  explicit Scheduler(Config config);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Changes configuration in flight; applies from the next decision on.
  void SetConfig(const Config& config);

  // ---- machine ----
  // Declares a GPU, or changes its budget (a budget below what is out is reached by evictions).
  void SetGpu(Time now, GpuId gpu, const GpuConfig& config);
  // GPU memory held by processes outside Reveza; it lessens the budget.
  void SetExternal(Time now, GpuId gpu, Bytes bytes);

  // ---- clients ----
  // A client has no GPU at first. `resident_only` clients (--resident) are never evicted.
  void ClientJoined(Time now, ClientId client, JobId job, bool resident_only);
  // Died or went. Its credit is free at once.
  void ClientLeft(Time now, ClientId client);
  // A client that lived before this scheduler did. May bring credit beyond the budget: nothing is
  // given out until evictions have restored I1.
  void ClientResumed(Time now, ClientId client, GpuId gpu, const Footprint& footprint, Bytes credit,
                     bool gate_open);

  void ContextWanted(Time now, ClientId client, GpuId gpu);
  // Ends what AdmitContext began; overhead 0: no context was made.
  void ContextMade(Time now, ClientId client, GpuId gpu, Bytes overhead);
  // A thread waits for AnswerGrowth{request}. Refused only when the card could not serve the
  // client alone, or when nobody could ever go on otherwise.
  void GrowthWanted(Time now, ClientId client, std::uint32_t request, GpuId gpu, GrowthKind kind,
                    Bytes bytes);
  void AccountChanged(Time now, ClientId client, GpuId gpu, const Footprint& footprint,
                      Bytes credit_returned, Bytes arena);
  void GateWanted(Time now, ClientId client);
  void BecameIdle(Time now, ClientId client);

  // ---- answers to decisions; `serial` is the decision's, an unknown one is ignored ----
  void GateClosed(Time now, ClientId client, std::uint32_t serial);
  void DrainFailed(Time now, ClientId client, std::uint32_t serial, DrainFailure reason);
  void Evicted(Time now, ClientId client, std::uint32_t serial, GpuId gpu, Bytes freed,
               EvictFailure failure);
  void SwappedIn(Time now, ClientId client, std::uint32_t serial);

  // Time passed: call at NextWakeup() or later.
  void Tick(Time now);
  std::optional<Time> NextWakeup() const;

  // What to do now, in this order. Empties the list.
  std::vector<Decision> TakeDecisions();

  // ---- for status and tests ----
  std::vector<ClientView> Clients() const;
  std::vector<JobView> Jobs() const;
  std::vector<GpuView> Gpus() const;
  Bytes HostReserved() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

const char* ToText(JobState state);
const char* ToText(WaitReason reason);

}  // namespace reveza::scheduler
