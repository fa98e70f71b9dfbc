// Ledger of all jobs, clients and GPUs, and the sums that decisions are based on.
//
// Plain data; the rules that change it are in admission, growth, turns, eviction and gates. All
// containers are ordered by number, so that equal events give equal decisions.
//
// Not thread-safe; part of a Scheduler.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza::scheduler {

// Returns the sum of `value(element)` over the elements of a map.
template <typename Map, typename Value>
Bytes SumOver(const Map& map, Value value) {
  Bytes sum = 0;
  for (const auto& [key, element] : map) sum += value(element);
  return sum;
}

// kAdmitting: admits a few submissions, then closes; see alignment.cc.
enum class Gate { kClosed, kAdmitting, kClosing, kOpen };

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
  std::map<GpuId, Holding> gpus;
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
  bool preemptible_sent = false;  // with the bound of its queue
  Bytes arena = 0;                // as reported
  Bytes host_reserved = 0;        // for evictions
  Bytes arena_requested = 0;      // by PrepareArena

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
  // Returns the upper bound of the client's host copies.
  Bytes Backed() const;
};

// kSuspended: all gates closed. kEntering: memory is being swapped in. kRunning: gates open.
// kLeaving: gates are closing. A job is active while it is entering or running.
enum class Phase { kSuspended, kEntering, kRunning, kLeaving };

struct Job {
  JobId id = 0;
  std::map<ClientId, Client> clients;
  Phase phase = Phase::kSuspended;
  std::uint64_t joined = 0;  // order of joining
  std::uint64_t rank = 0;    // seniority, changed by ageing; jobs of the highest rank queue first
  bool queued = false;
  std::optional<Time> queued_since;
  std::optional<Time> admitted_since;  // since when it rotates
  std::optional<Time> waiting_since;
  Policy policy;
  // GPU time divided by the weight, up to `served_until`; see fairness.cc.
  Time vruntime{0};
  Time served_until{0};
  bool competing = false;
  Time tokens{0};  // of an interactive job
  Time tokens_at{0};
  WaitReason why = WaitReason::kNone;
  JobId blocked_by = 0;

  // A turn lasts from the first open gate until all gates are closed.
  bool in_turn = false;
  Time turn_start{0};
  // When its slice began; before the turn if that continues an interrupted one.
  Time slice_start{0};
  std::optional<Time> interrupted_slice;  // when the slice began that a preempting job cut short
  Time ran{0};                            // in previous turns
  std::array<Time, kWaitReasons> waited{};
  std::uint64_t turns = 0;
  std::uint64_t entered = 0;             // order of entering
  std::optional<Time> backfill_turn;     // shortened turn while an older job waits
  std::optional<Time> handover_started;  // when the first CloseGate was sent for it
  std::optional<Time> held_back_since;   // fits, but beside jobs that may still grow
  bool preempted_others = false;         // other gates were closed for it
  std::map<GpuId, Bytes> entry_deficit;  // credit missing when it entered

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
  Time drain_backoff{0};
  Time evictable_at{0};  // backoff after a failed eviction

  std::optional<Time> peak_raised_at;  // when a client last exceeded its peak
  Time ran_at_peak{0};                 // Ran() at that time

  // Returns the total time with an open gate.
  Time Ran(Time now) const { return ran + (in_turn ? now - turn_start : Time(0)); }
  // Returns the GPU time divided by the weight.
  Time Vruntime(Time now) const;
  bool Active() const { return phase == Phase::kRunning || phase == Phase::kEntering; }
  bool Uses(GpuId gpu) const;
  bool SharesGpuWith(const Job& other) const;
  bool AnyGateOpen() const;
  bool AllIdle() const;
  bool Holds() const;
  bool Unresponsive() const;
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

using JobSet = std::set<JobId>;

class Ledger {
 public:
  explicit Ledger(const Config& initial) : config(initial) {}

  Client* Find(ClientId id);
  Holding* Find(ClientId id, GpuId gpu);

  // Returns the maximum that a client can hold on a GPU while it runs, with what it may allocate.
  static Bytes Claim(const Client& client, GpuId gpu);
  // Returns the part of the claim that cannot be evicted.
  Bytes Fixed(const Client& client, GpuId gpu) const;
  Bytes Claim(const Job& job, GpuId gpu) const;
  // Also what its policy keeps on the GPU.
  Bytes Fixed(const Job& job, GpuId gpu) const;
  // Returns what others cannot count on: the fixed memory, or what is promised if that is more.
  Bytes Reserved(const Job& job, GpuId gpu) const;
  // Returns the reserved memory of all other jobs, including approved requests.
  Bytes FixedOfOthers(JobId job, GpuId gpu) const;
  // Returns what can be promised to a job beside that.
  Bytes MaxRequest(JobId job, GpuId gpu) const;
  // Returns what can be promised to a job so that all others can still run as the only active one.
  Bytes MaxRequestBesideClaims(const Job& job, GpuId gpu) const;
  // Return what is approved for a client but not granted yet: swappable growth, or pinned growth
  // and contexts.
  Bytes ApprovedSwappable(const Client& client, GpuId gpu) const;
  Bytes ApprovedFixed(const Client& client, GpuId gpu) const;
  // Returns what a job needs to run: its claim, and its pending growths for which CountsOnEntry().
  Bytes EntryNeed(const Job& job, GpuId gpu) const;
  // Returns the part of it that is neither granted nor approved.
  Bytes GrowthOnEntry(const Job& job, GpuId gpu) const;
  bool CountsOnEntry(const PendingGrowth& growth) const;
  // Returns the pending growths of the same job that will be granted first: approved ones, and
  // earlier ones that count on entry.
  Bytes PendingOfSameJob(const PendingGrowth& growth) const;
  // Returns the memory required to grant the growth with no other job active.
  Bytes RequiredAlone(const PendingGrowth& growth) const;
  Bytes Need(const Job& job, GpuId gpu) const;
  // Returns the credit to reserve for the next context on a GPU.
  Bytes ContextEstimate(const Gpu& gpu) const;

  // While one lives, sums over all jobs and the order of eviction are computed only once: a pass
  // that asks for each waiting job takes linear time. Memory, credit and policies must not change
  // meanwhile.
  class Frozen {
   public:
    explicit Frozen(const Ledger& ledger) : ledger_(ledger) { ledger_.memo_.emplace(); }
    ~Frozen();
    Frozen(const Frozen&) = delete;
    Frozen& operator=(const Frozen&) = delete;

    // Computes anew, after a job has changed its place in the order of eviction.
    void Refresh() { ledger_.memo_.emplace(); }

   private:
    const Ledger& ledger_;
  };

  // Returns all jobs in the order of eviction: the one that runs last goes first. Only those that
  // are not active are evicted.
  std::vector<Job*> EvictionOrder();

  // Returns the total demand on a GPU when exactly the jobs in `active` are active.
  Bytes Demand(GpuId gpu, const JobSet& active) const;
  bool Fits(GpuId gpu, const JobSet& active) const;
  bool FitsAllGpusOf(const Job& job, const JobSet& active) const;
  // Returns whether the job fits as the only active one, beside the fixed memory of the others.
  bool CanRunAlone(const Job& job) const;
  // Returns whether a thread of the job waits at the gate, or for pinned memory that requires a
  // turn; never if it is paused.
  bool WantsToRun(const Job& job) const;

  Bytes OutstandingCredit(GpuId gpu) const;
  // Returns the credit left; negative after a budget cut.
  std::int64_t Free(GpuId gpu) const;
  // Returns what the evictions in progress will free.
  Bytes PendingEvictions(GpuId gpu) const;
  static Bytes Deficit(const Client& client, GpuId gpu);
  Bytes Deficit(const Job& job, GpuId gpu) const;
  static bool FullyResident(const Client& client);
  // Returns whether its gates may open: all memory is resident, none is about to be allocated
  // behind a closed gate, and there is room for what it requested before, which it would otherwise
  // wait for in its slice.
  bool MayOpen(const Job& job) const;

  // Returns the evictable memory of a client, regardless of host memory and of the job's policy.
  Bytes Evictable(const Client& client, GpuId gpu) const;
  // Returns what the policy of the job allows to evict beyond the evictions in progress.
  static Bytes EvictableOf(const Job& job, GpuId gpu);
  Bytes HostReserved() const;
  static Bytes HostReserved(const Client& client);
  // Returns how much of `bytes` can be evicted from a client with `host_free` bytes of host memory
  // left, beside `already` that is being evicted. Deducts the reservation from host_free.
  static Bytes EvictableWithin(const Client& client, Bytes bytes, Bytes already, Bytes granule,
                               Bytes& host_free);

  template <typename Value>
  Bytes SumOverClients(Value value) const {
    return SumOver(jobs, [&](const Job& job) { return SumOver(job.clients, value); });
  }
  template <typename Predicate>
  JobSet JobsWith(Predicate predicate) const {
    JobSet set;
    for (const auto& [id, job] : jobs) {
      if (predicate(job)) set.insert(id);
    }
    return set;
  }
  // Returns the jobs for which `predicate` holds, in the order of `key`, computed once per job.
  template <typename Key, typename Predicate>
  std::vector<Job*> JobsSortedBy(Key key, Predicate predicate) {
    std::map<std::pair<std::decay_t<std::invoke_result_t<Key, const Job&>>, JobId>, Job*> sorted;
    for (auto& [id, job] : jobs) {
      if (predicate(job)) sorted.emplace(std::pair(std::invoke(key, job), id), &job);
    }
    std::vector<Job*> found;
    for (const auto& [position, job] : sorted) found.push_back(job);
    return found;
  }
  JobSet ActiveJobs() const {
    return JobsWith([](const Job& job) { return job.Active(); });
  }
  JobSet LeavingJobs() const {
    return JobsWith([](const Job& job) { return job.phase == Phase::kLeaving; });
  }
  std::uint32_t NextSerial() { return ++serial_ == 0 ? ++serial_ : serial_; }
  // Requests a wake-up at `time`, when the decisions may differ.
  void WakeAt(Time time);
  // Returns whether `time` has been reached; otherwise requests a wake-up.
  bool Reached(Time time);

  // Returns whether memory of external processes counts as permanent for a request made at
  // `requested_at`: external_wait_timeout has passed since then, or since that memory last changed.
  // Otherwise requests a wake-up.
  bool ExternalPersists(const Gpu& gpu, Time requested_at) {
    return Reached(std::min(requested_at, gpu.external_changed) + config.external_wait_timeout);
  }

  // Returns whether a growth or context has waited so long that GPU work which does not drain
  // counts as work that waits for others (a rank in a collective), and not as a long kernel.
  template <typename Request>
  bool Overdue(const Request& request) const {
    return request.requested_at + config.max_wait <= now;
  }

  // Returns whether all clients of a previous daemon have reconnected; otherwise requests a
  // wake-up.
  bool TakeoverSettled() { return Reached(takeover_settled_at); }

  Config config;
  Time now{0};
  Time takeover_settled_at{0};
  std::optional<Time> wake;
  std::map<JobId, Job> jobs;
  std::map<ClientId, JobId> job_of;
  std::map<GpuId, Gpu> gpus;
  std::list<PendingGrowth> growths;
  std::list<PendingContext> contexts;
  std::vector<Decision> decisions;
  std::uint64_t next_rank = 0;
  std::uint64_t next_entered = 0;

 private:
  struct Memo {
    std::map<GpuId, Bytes> fixed;
    std::map<GpuId, Bytes> reserved;
    std::map<GpuId, Bytes> credit;
    std::map<GpuId, Bytes> evictions;
    std::optional<Bytes> host_reserved;
    std::optional<std::vector<Job*>> eviction_order;
  };

  // Returns whether the sums are still right.
  bool Confirms(const Memo& memo) const;
  // Returns the fixed memory of all jobs.
  Bytes FixedOfAll(GpuId gpu) const;
  Bytes ReservedOfAll(GpuId gpu) const;
  // Returns `sum()`; while frozen, as computed the first time.
  template <typename Sum>
  Bytes Memoized(std::map<GpuId, Bytes> Memo::* sums, GpuId gpu, Sum sum) const {
    if (!memo_) return sum();
    std::map<GpuId, Bytes>& known = (*memo_).*sums;
    const auto found = known.find(gpu);
    return found != known.end() ? found->second : known.emplace(gpu, sum()).first->second;
  }

  std::uint32_t serial_ = 0;
  mutable std::optional<Memo> memo_;
};

}  // namespace reveza::scheduler
