// The scheduler: decides which job runs, for how long, and whose memory moves. Pure decisions; no
// clock, I/O or threads.
//
// The caller (daemon, simulator or test) reports events with their time, then takes the decisions
// and carries them out. Time is a duration since any fixed origin; a time before that of an earlier
// event counts as the latter's.
//
// The central concept is *credit*. A client may hold as much physical GPU memory as it has credit:
//
//     sum over clients of credit  <=  budget of the GPU                                     (I1)
//
// Contexts, pinned memory and swappable memory all need credit. Growth, contexts and swap-ins
// request it; evictions, frees and process deaths return it. A client runs (its gate is open) only
// while all its memory is resident. The gates of all clients of a job open and close together.
// docs/invariants.md lists all invariants; simulator/ checks them in random worlds.
//
// Not thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/base/bytes.h"

namespace reveza::scheduler {

using Time = std::chrono::nanoseconds;
using ClientId = std::uint64_t;
using JobId = std::uint64_t;
using GpuId = std::uint32_t;
using AccountId = std::uint32_t;

// A job of a higher priority enters before and instead of those of a lower one; a job that has
// waited for Config::max_wait enters as if it had the highest.
enum class Priority : std::uint8_t { kLow, kNormal, kHigh };
const char* ToText(Priority priority);

// What a job is entitled to. May change at any time.
struct Policy {
  static constexpr double kMinWeight = 0.01;
  static constexpr double kMaxWeight = 100;

  double weight = 1;  // jobs that compete get GPU time in proportion to it
  Priority priority = Priority::kNormal;
  // Sleeps most of the time: enters at once while it has tokens (Config::interactive_share), and is
  // evicted last.
  bool interactive = false;
  bool paused = false;  // does not run, and holds no memory that can be evicted
  // Of each GPU that it uses, for all its clients together: memory that is not evicted, to within a
  // granule, and that others cannot keep; and the most that it may have.
  Bytes request = 0;
  Bytes limit = std::numeric_limits<Bytes>::max();

  friend bool operator==(const Policy&, const Policy&) = default;
};

// What all jobs of an account, such as a user, have together.
struct Quota {
  // GPU time in proportion to it, divided among those of its jobs that compete; unset: each job has
  // its own weight.
  std::optional<double> weight = std::nullopt;
  // Of each GPU. Beyond it memory is refused, as beyond Policy::limit.
  Bytes limit = std::numeric_limits<Bytes>::max();

  friend bool operator==(const Quota&, const Quota&) = default;
};

struct Config {
  Bytes host_budget = 0;         // pinned host memory for all clients
  double handover_share = 0.05;  // maximum share of a slice spent on its handover
  Time slice_floor = std::chrono::milliseconds(500);
  Time slice_ceiling = std::chrono::seconds(30);
  Time max_wait = std::chrono::seconds(120);  // limits how many jobs rotate; the others queue
  Time drain_limit = std::chrono::seconds(2);
  Time queue_bound = std::chrono::milliseconds(100);  // clients begin with it
  // While an interactive job may preempt them, and before their slice ends: what is queued must
  // drain before the next kernel of another job.
  Time short_queue_bound = std::chrono::milliseconds(10);
  Time drain_retry = std::chrono::seconds(1);  // after a failed drain; doubles up to slice_ceiling
  Time evict_retry = std::chrono::seconds(5);  // after a failed eviction
  Time evict_timeout = std::chrono::seconds(30);  // without a piece freed; then it is unresponsive
  Time context_timeout = std::chrono::seconds(60);  // to create an admitted context
  Bytes context_estimate = 640 * kMiB;              // until a context was measured on the GPU
  double link_estimate = 20e9;                      // bytes/s, until a handover was measured
  // After a client of a previous daemon reconnects, nothing new is granted for this long: others
  // may follow.
  Time takeover_settle_time = std::chrono::seconds(1);
  // Memory of external processes is no reason for "out of memory" before this time: they come and
  // go, and a client that exits counts as one until the driver has freed its memory.
  Time external_wait_timeout = std::chrono::seconds(30);
  // GPU time that an interactive job may take at once from others, and the share at which it gets
  // that back while it does not run.
  Time interactive_burst = std::chrono::seconds(2);
  double interactive_share = 0.1;
  // A job whose peak footprint has not risen for this long counts as fully grown.
  Time growth_settle_time = std::chrono::seconds(10);
  // For how long a job is idle before its contexts leave the card; 0: they never do, for no reason.
  Time release_contexts_after{0};
  // Every event concerns all jobs: slower, and decides the same. For tests, which compare.
  bool consider_everything = false;
};

struct GpuConfig {
  Bytes total = 0;    // of the card
  Bytes budget = 0;   // for all clients together
  Bytes granule = 0;  // unit of allocation; clients request multiples where possible
  friend bool operator==(const GpuConfig&, const GpuConfig&) = default;
};

// ---- events ----

// Memory of one client on one GPU, as last reported.
struct Footprint {
  Bytes resident = 0;  // swappable, in GPU memory
  Bytes swapped = 0;   // swappable, not in GPU memory
  Bytes pinned = 0;    // not evictable
  Bytes context = 0;
  Bytes Swappable() const { return resident + swapped; }
  Bytes Fixed() const { return pinned + context; }
  Bytes Need() const { return Swappable() + Fixed(); }
  friend bool operator==(const Footprint&, const Footprint&) = default;
};

// In the order of the enums of wire/, as Growth below.
enum class GrowthKind { kSwappable, kPinned };
enum class EvictFailure { kNone, kHostMemory, kDriver };
enum class ContextRelease { kReleased, kBusy, kRefused };

// ---- decisions ----

struct AdmitContext {
  ClientId client;
  GpuId gpu;
  Bytes credit;  // reserved until ContextCreated
  friend bool operator==(const AdmitContext&, const AdmitContext&) = default;
};
// kLater: the job's gate is closed or closing and nothing is granted; the client allocates
// virtually (swappable) or repeats the request once its gate is open (pinned).
enum class Growth { kRefused, kGranted, kLater };
struct AnswerGrowth {
  ClientId client;
  std::uint32_t request;
  GpuId gpu;
  Growth answer;
  Bytes credit;  // as requested if kGranted, else 0
  friend bool operator==(const AnswerGrowth&, const AnswerGrowth&) = default;
};
struct OpenGate {
  ClientId client;
  std::uint32_t serial;
  friend bool operator==(const OpenGate&, const OpenGate&) = default;
};
struct CloseGate {
  ClientId client;
  std::uint32_t serial;
  Time drain_limit;
  Time report_after;          // when to call Draining()
  std::uint32_t submissions;  // to admit before; not 0 only if the gate is closed
  friend bool operator==(const CloseGate&, const CloseGate&) = default;
};
struct Evict {
  ClientId client;
  GpuId gpu;
  Bytes bytes;
  std::uint32_t serial;
  friend bool operator==(const Evict&, const Evict&) = default;
};
struct SwapIn {
  ClientId client;
  std::uint32_t serial;
  friend bool operator==(const SwapIn&, const SwapIn&) = default;
};
struct GiveCredit {
  ClientId client;
  GpuId gpu;
  Bytes bytes;
  friend bool operator==(const GiveCredit&, const GiveCredit&) = default;
};
struct SetContention {
  ClientId client;
  bool waiting;
  Time idle_after;  // cost of a handover (ski rental)
  friend bool operator==(const SetContention&, const SetContention&) = default;
};
// Bounds the GPU work that the client queues ahead: under contention, or at any time if `always`.
struct SetQueueBound {
  ClientId client;
  Time bound;
  bool always;
  friend bool operator==(const SetQueueBound&, const SetQueueBound&) = default;
};
// Takes the contexts and the pinned memory of a client off all its GPUs, and brings them back.
struct ReleaseContexts {
  ClientId client;
  std::uint32_t serial;
  friend bool operator==(const ReleaseContexts&, const ReleaseContexts&) = default;
};
struct RestoreContexts {
  ClientId client;
  std::uint32_t serial;
  friend bool operator==(const RestoreContexts&, const RestoreContexts&) = default;
};
struct PrepareArena {
  ClientId client;
  Bytes bytes;
  friend bool operator==(const PrepareArena&, const PrepareArena&) = default;
};
// The GPU cannot keep the request of the job's policy; answers ContextRequested().
struct RefuseContext {
  ClientId client;
  GpuId gpu;
  Bytes max_request;
  friend bool operator==(const RefuseContext&, const RefuseContext&) = default;
};
using Decision = std::variant<AdmitContext, RefuseContext, AnswerGrowth, OpenGate, CloseGate, Evict,
                              SwapIn, GiveCredit, SetContention, SetQueueBound, PrepareArena,
                              ReleaseContexts, RestoreContexts>;

// ---- status ----

enum class JobState {
  kQueued,    // not admitted to the rotation yet
  kIdle,      // gate closed, no thread waits
  kWaiting,   // gate closed, a thread waits for the turn
  kEntering,  // memory is being swapped in
  kRunning,   // gate open
  kLeaving,   // gate closing, queues draining
  kPaused,    // gate closed, by its policy
};

enum class WaitReason {
  kNone,
  kTurn,           // other jobs are in their slice
  kContext,        // another client is creating its context, or no room for one more
  kGpuMemory,      // fixed memory of other jobs is in the way
  kHostMemory,     // no host memory to evict into
  kUnpreemptible,  // the running job fails to drain
  kQueue,          // max_wait allows no more jobs in the rotation
  kUnresponsive,   // a client of the job does not answer
  kPaused,         // by its policy
};
inline constexpr std::size_t kWaitReasons = static_cast<std::size_t>(WaitReason::kPaused) + 1;

struct ClientView {
  ClientId id = 0;
  JobId job = 0;
  struct Gpu {
    GpuId gpu = 0;
    Footprint footprint;
    Bytes credit = 0;
    bool evicting = false;  // did not answer an Evict yet
    friend bool operator==(const Gpu&, const Gpu&) = default;
  };
  std::vector<Gpu> gpus;
  Bytes arena = 0;
  bool gate_open = false;
  bool unpreemptible = false;
  bool unresponsive = false;   // did not answer Evict; until it sends something
  bool contexts_away = false;  // not on its GPUs, nor is what it has pinned
  friend bool operator==(const ClientView&, const ClientView&) = default;
};

struct JobView {
  JobId id = 0;
  Policy policy;
  double weight = 1;  // with the quota of its account; policy.weight without one
  std::optional<AccountId> account;
  Quota quota;  // of the account
  JobState state = JobState::kIdle;
  WaitReason why = WaitReason::kNone;
  JobId blocked_by = 0;   // 0: no particular job
  Time waiting_since{0};  // if kWaiting or kQueued
  Time slice_ends{0};     // if kRunning and contended
  Time ran{0};            // total time with an open gate
  // Total time waited for a turn, by reason; kNone: while its memory was swapped in.
  std::array<Time, kWaitReasons> waited{};
  std::uint64_t turns = 0;  // number of turns
  // Drains in which clients that waited for each other were aligned, and drains that failed.
  std::uint64_t aligned_drains = 0;
  std::uint64_t failed_drains = 0;
  std::vector<ClientId> clients;
  friend bool operator==(const JobView&, const JobView&) = default;
};

struct GpuView {
  GpuId id = 0;
  GpuConfig config;
  Bytes external = 0;            // held by external processes
  Bytes outstanding_credit = 0;  // sum over all clients
  Time handover{0};              // measured moving average; 0: none yet
  friend bool operator==(const GpuView&, const GpuView&) = default;
};

class Ledger;

class Scheduler {
 public:
  // A pass may enable another (a job that enters may then grow), but only a few times. No event is
  // known that comes so far: it would mean that rules contradict each other.
  static constexpr int kMaxPasses = 8;

  explicit Scheduler(Config config);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // ---- machine ----
  // Adds a GPU or changes its budget. A budget below the outstanding credit is restored by
  // evictions.
  void SetGpu(Time now, GpuId gpu, const GpuConfig& config);
  // Reports GPU memory held by external processes; it is deducted from the budget.
  void SetExternal(Time now, GpuId gpu, Bytes bytes);

  // ---- clients ----
  // Adds a client, which uses no GPU yet. `resident_only` clients (--resident) are never evicted.
  void ClientJoined(Time now, ClientId client, JobId job, bool resident_only);
  // The client can take its contexts off the card.
  void SetMovableContexts(Time now, ClientId client);
  // Removes a client that disconnected or died. Its credit is free immediately.
  void ClientLeft(Time now, ClientId client);
  // Replaces the policy of a job; no effect on an unknown one.
  void SetPolicy(Time now, JobId job, const Policy& policy);
  // Makes a job one of an account and sets the quota of that; no effect on an unknown job.
  void SetAccount(Time now, JobId job, AccountId account, const Quota& quota);
  // Returns what can be promised to a job on a GPU beside what is reserved by others.
  Bytes MaxRequest(JobId job, GpuId gpu) const;
  // Returns whether the GPUs of the job can keep `request`, if that is more than now, and all other
  // jobs still run in their turns; if not, the first that cannot, and the most that it can.
  struct Shortage {
    GpuId gpu;
    Bytes max_request;
  };
  std::optional<Shortage> FindShortage(JobId job, Bytes request) const;
  // Adopts the state of a client that is older than this scheduler. Its credit may exceed the
  // budget: nothing is granted until evictions have restored I1.
  void ClientResumed(Time now, ClientId client, GpuId gpu, const Footprint& footprint, Bytes credit,
                     bool gate_open);

  // Says of a client that is about to be adopted that its contexts are away.
  void ContextsAway(Time now, ClientId client);

  void ContextRequested(Time now, ClientId client, GpuId gpu);
  // Completes AdmitContext; overhead 0: no context was created.
  void ContextCreated(Time now, ClientId client, GpuId gpu, Bytes overhead);
  // Requests memory; a thread waits for AnswerGrowth{request}. Refused only if the GPU could not
  // serve the client alone, or to break a deadlock.
  void GrowthRequested(Time now, ClientId client, std::uint32_t request, GpuId gpu, GrowthKind kind,
                       Bytes bytes);
  void AccountChanged(Time now, ClientId client, GpuId gpu, const Footprint& footprint,
                      Bytes credit_returned, Bytes arena);
  // What the GPU cannot hold of a client goes to memory of the host: its growth is refused where
  // that of others waits for memory that cannot be swapped.
  void SetHostBacked(Time now, ClientId client);
  // Reports what a client has in memory of the host at its place, which is not there for copies.
  void HostBacked(Time now, ClientId client, Bytes bytes);
  void GateRequested(Time now, ClientId client);
  // The client needs the GPU no more for the moment.
  void BecameIdle(Time now, ClientId client);
  // While a client holds, the slice of its job does not end before slice_ceiling.
  void SetHold(Time now, ClientId client, bool holds);

  // ---- answers to decisions; `serial` is the decision's, stale ones are ignored ----
  void GateClosed(Time now, ClientId client, std::uint32_t serial);
  void DrainFailed(Time now, ClientId client, std::uint32_t serial);
  // GPU work is not done after CloseGate::report_after; GateClosed or DrainFailed follows.
  void Draining(Time now, ClientId client, std::uint32_t serial);
  void Evicted(Time now, ClientId client, std::uint32_t serial, GpuId gpu, EvictFailure failure);
  void SwappedIn(Time now, ClientId client, std::uint32_t serial);
  void ContextsReleased(Time now, ClientId client, std::uint32_t serial, ContextRelease outcome);
  void ContextsRestored(Time now, ClientId client, std::uint32_t serial);

  // Decides anew. Call at NextWakeup() or later.
  void Tick(Time now);
  std::optional<Time> NextWakeup() const;

  // Returns the decisions to carry out, in this order, and clears them.
  std::vector<Decision> TakeDecisions();

  // ---- for status and tests ----
  std::vector<ClientView> Clients() const;
  std::vector<JobView> Jobs() const;
  std::vector<GpuView> Gpus() const;
  Bytes HostReserved() const;
  // Returns how many jobs the last event made the scheduler look at: what it cost.
  std::size_t JobsConsidered() const;
  // Returns how often the last event ran the passes; kMaxPasses if they did not settle before.
  int Passes() const;

 private:
  std::unique_ptr<Ledger> ledger_;
};

const char* ToText(JobState state);
const char* ToText(WaitReason reason);

}  // namespace reveza::scheduler
