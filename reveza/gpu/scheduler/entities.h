// Jobs, clients, GPUs and their pending requests, as the scheduler knows them. Plain data; ledger.h
// contains all of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "reveza/gpu/scheduler/flat_map.h"
#include "reveza/gpu/scheduler/parked.h"
#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza::scheduler {

// Returns the sum of `value(element)` over the elements of a map.
template <typename Map, typename Value>
Bytes SumOver(const Map& map, Value value) {
  Bytes sum = 0;
  for (const auto& [key, element] : map) sum += value(element);
  return sum;
}

template <typename Value>
Bytes SumOver(const std::vector<Job*>& jobs, Value value) {
  Bytes sum = 0;
  for (const Job* job : jobs) sum += value(*job);
  return sum;
}

// kAdmitting: admits a few submissions, then closes; see alignment.cc.
enum class Gate { kClosed, kAdmitting, kClosing, kOpen };

// Where the contexts of a client are. kLeaving, kComing: it was told so and has not answered.
enum class Contexts { kHere, kLeaving, kAway, kComing };

// The state of one client on one GPU.
struct Holding {
  Footprint footprint;
  Bytes credit = 0;
  // Credit granted for a context between AdmitContext and ContextCreated.
  bool creating_context = false;
  Bytes context_credit = 0;
  Bytes context_before = 0;
  // Credit granted for pinned growth that the footprint does not show yet: not evictable.
  Bytes pinned_in_flight = 0;
  // What the client may allocate behind its closed gate and has not yet: the gates of its job do
  // not open meanwhile, or its own might be the only closed one. After this time it does not need
  // it any more.
  Bytes permitted = 0;
  Time permitted_until{0};
  // Upper bound of the swappable memory that was ever resident; only that needs a host copy.
  Bytes backed = 0;
  // Largest swappable footprint so far, and the largest that was checked against the host budget:
  // up to a granule less, because requests are rounded up.
  Bytes peak = 0;
  Bytes approved_peak = 0;
  // The Evict in progress (serial 0: none) and how much of it is still outstanding.
  std::uint32_t evict_serial = 0;
  Bytes evict_requested = 0;
  Bytes evict_left = 0;
  Time evict_deadline{0};
};

struct Client {
  ClientId id = 0;
  JobId job = 0;
  bool resident_only = false;
  bool host_backed = false;  // puts what the GPU cannot hold on the host, at its place
  FlatMap<GpuId, Holding> gpus;
  Gate gate = Gate::kClosed;
  std::uint32_t gate_serial = 0;
  bool draining = false;                 // reported that its GPU work is not done
  std::uint32_t admissions = 0;          // since it last waited for others
  std::uint32_t swap_in_serial = 0;      // 0: no SwapIn in progress
  std::optional<Time> swap_in_deadline;  // of an answer, once it has all credit
  bool wants_gate = false;               // a thread waits at the closed gate
  bool idle = false;                     // reported idle under contention
  bool holds = false;                    // asks for its slice not to end
  bool unpreemptible = false;            // its last drain failed
  bool unresponsive = false;  // an Evict or SwapIn timed out, and it has sent nothing since
  std::optional<bool> contention_sent;
  Time idle_after_sent{0};
  bool short_bound_sent = false;   // of its queue
  bool always_bound_sent = false;  // likewise, also without contention
  Bytes arena = 0;                 // as reported
  Bytes on_host = 0;               // at its place, as reported; takes no credit
  Bytes host_reserved = 0;         // for evictions
  Bytes arena_requested = 0;       // by PrepareArena
  bool movable_contexts = false;   // as far as is known
  Contexts contexts = Contexts::kHere;
  std::uint32_t contexts_serial = 0;      // of the order in progress
  std::optional<Time> contexts_deadline;  // of its answer
  Time release_at{0};                     // not before: a thread was in a call
  Time release_backoff{0};
  // How many of its requests are pending.
  std::size_t growths = 0;
  std::size_t context_requests = 0;

  // Returns the holding on a GPU; an empty one if the client does not use it.
  const Holding& On(GpuId gpu) const {
    static constexpr Holding kNone;
    const auto entry = gpus.find(gpu);
    return entry == gpus.end() ? kNone : entry->second;
  }
  bool Evicting() const;
  bool MayAllocate() const;
  bool Closing() const { return gate == Gate::kClosing || gate == Gate::kAdmitting; }
  // Sums over all GPUs.
  Bytes Swappable() const {
    return SumOver(gpus, [](const Holding& on) { return on.footprint.Swappable(); });
  }
  Bytes Swapped() const {
    return SumOver(gpus, [](const Holding& on) { return on.footprint.swapped; });
  }
  // Returns its contexts and pinned memory on all GPUs.
  Bytes Unswappable() const {
    return SumOver(gpus, [](const Holding& on) { return on.footprint.Fixed(); });
  }
  // Returns the upper bound of the client's host copies.
  Bytes Backed() const;
};

// kSuspended: all gates closed. kEntering: memory is being swapped in. kRunning: gates open.
// kLeaving: gates are closing. A job is active while it is entering or running.
enum class Phase { kSuspended, kEntering, kRunning, kLeaving };

// A value that is computed once while the ledger is frozen, see Ledger::Frozen.
template <typename T>
struct Known {
  std::uint64_t freeze = 0;  // for which it is valid
  T value{};
};

// What a job adds to the sums of a GPU.
struct JobShare {
  GpuId gpu = 0;
  Bytes fixed = 0;
  Bytes movable = 0;    // what it needs to run beyond its fixed memory
  Bytes deficit = 0;    // credit that it lacks
  Bytes evictable = 0;  // if the host has room, beyond the evictions in progress
  friend bool operator==(const JobShare&, const JobShare&) = default;
};

struct Job {
  JobId id = 0;
  FlatMap<ClientId, Client> clients;
  std::vector<GpuId> uses;  // the GPUs on which its clients have holdings, ascending
  std::optional<ParkedShare> parked;
  Bytes host_bound = 0;  // see HostBound(); as of the last event that concerned it
  Phase phase = Phase::kSuspended;
  std::uint64_t joined = 0;  // order of joining
  std::uint64_t rank = 0;    // seniority, changed by ageing; jobs of the highest rank queue first
  bool queued = false;
  std::optional<Time> queued_since;
  std::optional<Time> admitted_since;  // since when it rotates
  std::optional<Time> waiting_since;
  Policy policy;
  std::optional<AccountId> account;
  double weight = 1;  // of the policy, or its part of the account's
  // GPU time divided by the weight, up to `served_until`; see fairness.cc.
  Time vruntime{0};
  Time served_until{0};
  bool competing = false;
  Time tokens{0};  // of an interactive job, up to `tokens_at`
  Time tokens_at{0};
  bool takes_tokens = false;  // since then
  WaitReason why = WaitReason::kNone;
  JobId blocked_by = 0;

  // A turn lasts from the first open gate until all gates are closed.
  bool in_turn = false;
  Time turn_start{0};
  // When its slice began; before the turn if that continues an interrupted one.
  Time slice_start{0};
  std::optional<Time> interrupted_slice;    // when the slice began that a preempting job cut short
  Time ran{0};                              // in previous turns
  std::array<Time, kWaitReasons> waited{};  // up to `waits_since`
  std::optional<WaitReason> waits_for;      // since then; nullopt: it does not wait
  Time waits_since{0};
  std::uint64_t turns = 0;
  std::uint64_t entered = 0;             // order of entering
  std::optional<Time> backfill_turn;     // shortened turn while an older job waits
  std::optional<Time> handover_started;  // when the first CloseGate was sent for it
  std::optional<Time> held_back_since;   // fits, but beside jobs that may still grow
  bool preempted_others = false;         // other gates were closed for it
  FlatMap<GpuId, Bytes> entry_deficit;   // credit missing when it entered

  // Aligning clients that wait for each other, while the job is leaving.
  Time drain_deadline{0};
  Time next_alignment{0};
  Time alignment_pause{0};
  bool aligned = false;  // an order was necessary
  std::uint64_t aligned_drains = 0;

  // Failed drains and evictions.
  bool drain_failed = false;  // in the current attempt
  std::uint64_t failed_drains = 0;
  Time closable_at{0};
  Time closes_at = Time::max();  // as planned, for a job that waits
  Time drain_backoff{0};
  Time evictable_at{0};  // backoff after a failed eviction

  // Contexts that leave because the job is idle: since when it is, for how long it must be, and
  // when they left last.
  Time idle_since{0};
  Time release_after{0};  // at least Config::release_contexts_after
  std::optional<Time> contexts_left;

  // Since when it sleeps, if it gave up its slice because it was idle, and how many of its last
  // sleeps in a row were longer than a handover.
  std::optional<Time> asleep_since;
  unsigned long_sleeps = 0;

  mutable Known<JobShare> share;  // of the sums of a GPU

  std::optional<Time> peak_raised_at;  // when a client last exceeded its peak
  Time ran_at_peak{0};                 // Ran() at that time

  // Returns the total time with an open gate.
  Time Ran(Time now) const { return ran + (in_turn ? now - turn_start : Time(0)); }
  // Returns the GPU time divided by the weight.
  Time Vruntime(Time now) const;
  bool Active() const { return phase == Phase::kRunning || phase == Phase::kEntering; }
  bool Uses(GpuId gpu) const { return std::ranges::binary_search(uses, gpu); }
  bool SharesGpuWith(const Job& other) const;
  bool AnyGateOpen() const;
  bool AllIdle() const;
  bool Holds() const;
  bool Unresponsive() const;
  // Return how many requests of its clients are pending.
  std::size_t Growths() const;
  std::size_t ContextRequests() const;
};

// Why a request is deferred. Deferred requests never block a handover.
enum class Obstacle { kNone, kFixedMemory, kHostMemory };

struct PendingGrowth {
  ClientId client = 0;
  JobId job = 0;
  std::uint32_t request = 0;
  GpuId gpu = 0;
  GrowthKind kind = GrowthKind::kSwappable;
  Bytes bytes = 0;
  Time requested_at{0};
  bool approved = false;  // fits beside the active jobs; waits only for evictions
  Obstacle obstacle = Obstacle::kNone;

  bool Blocked() const { return obstacle != Obstacle::kNone; }
};

struct PendingContext {
  ClientId client = 0;
  JobId job = 0;
  GpuId gpu = 0;
  Time requested_at{0};
  Obstacle obstacle = Obstacle::kNone;
};

// Sums over the jobs of a GPU, and their order of eviction.
struct GpuSums {
  Known<Bytes> fixed;
  Known<Bytes> reserved;
  Known<Bytes> credit;
  Known<Bytes> evictions;
  Known<Bytes> evictable;
  Known<Time> handover_cost;
  Known<std::vector<Job*>> eviction_order;
  Known<std::vector<Job*>> eviction_candidates;
};

struct Gpu {
  GpuConfig config;
  Bytes external = 0;
  Time external_changed{0};
  Time handover{0};  // moving average; 0: not measured
  // Swap-in time per byte, moving average; 0: not measured.
  double handover_seconds_per_byte = 0;
  Bytes largest_context = 0;
  // The client that is creating its context, and until when it may delay others.
  std::optional<ClientId> context_creator;
  Time context_deadline{0};
  std::optional<ClientId> approved_context;  // fits; waits only for evictions
  // Something fits only if contexts leave: they count as memory that can be evicted.
  bool crowded = false;

  std::vector<Job*> jobs;  // that use it and are not parked, by number
  ParkedJobs parked;
  mutable GpuSums sums;
  // As of the last event that concerned it, see scope.h.
  std::optional<Time> wake;
  std::optional<Time> due;
  bool in_scope = false;
  std::size_t group = 0;  // the same for GPUs that jobs use together, while they are in scope
  bool overfull = false;  // not all jobs fit together
  bool evicting = false;

  Bytes Granule() const { return std::max<Bytes>(config.granule, 1); }
  // Returns what clients may hold without external processes.
  Bytes Capacity() const {
    return std::min(config.budget, config.total == 0 ? config.budget : config.total);
  }
  // Returns Capacity() less the memory of external processes.
  Bytes Limit() const {
    const Bytes budget = Capacity();
    return budget > external ? budget - external : 0;
  }
};

}  // namespace reveza::scheduler
