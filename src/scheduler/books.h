// Who holds what: the books of all jobs, clients and GPUs, and the sums that decisions rest on.
//
// Plain data with plain sums; the rules that change it live in the files named after them
// (admission, growth, turns, room, gates). Everything is ordered by number, so that the same
// events always give the same decisions.
//
// Thread-safety: none; part of a Scheduler.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "scheduler/scheduler.h"

namespace reveza::scheduler {

enum class Gate { kClosed, kClosing, kOpen };

// One client on one GPU.
struct Holding {
  Footprint books;
  Bytes credit = 0;
  // Credit given for a context between AdmitContext and ContextMade.
  bool making_context = false;
  Bytes context_credit = 0;
  Bytes context_before = 0;
  // Credit given for pinned growth that the books do not show yet: it cannot be evicted.
  Bytes pinned_on_the_way = 0;
  // At most so much of the swappable memory was ever in GPU memory: only that needs a host copy.
  Bytes backed = 0;
  // The most swappable memory that it ever had, and the most that was looked at with regard to host
  // memory: at most a granule less, because requests are rounded up.
  Bytes peak = 0;
  Bytes cleared = 0;
  // An Evict under way (serial 0: none) and how much of it has not come back yet.
  std::uint32_t evict_serial = 0;
  Bytes evict_asked = 0;
  Bytes evict_left = 0;
};

struct Client {
  ClientId id = 0;
  JobId job = 0;
  bool resident_only = false;
  std::map<GpuId, Holding> gpus;
  Gate gate = Gate::kClosed;
  std::uint32_t gate_serial = 0;
  std::uint32_t swap_in_serial = 0;  // 0: no SwapIn under way
  bool wants = false;                // a thread is at the closed gate
  bool idle = false;                 // nothing to do, as it said under contention
  bool unpreemptible = false;        // its last drain failed
  std::optional<bool> contention_sent;
  Time idle_after_sent{0};
  Bytes arena = 0;          // as reported
  Bytes host_reserved = 0;  // for evictions
  Bytes arena_asked = 0;    // by PrepareArena

  bool Evicting() const;
  Bytes Swappable() const;  // over all GPUs
  Bytes Swapped() const;
  // What its host copy can come to need.
  Bytes Backed() const;
};

// kOut: all gates closed. kEntering: memory comes in. kIn: gates open. kLeaving: gates close.
enum class Phase { kOut, kEntering, kIn, kLeaving };

struct Job {
  JobId id = 0;
  std::map<ClientId, Client> clients;
  Phase phase = Phase::kOut;
  std::uint64_t joined = 0;  // order of joining
  std::uint64_t rank = 0;    // seniority: the youngest queue; ageing changes it
  bool queued = false;
  std::optional<Time> queued_since;
  std::optional<Time> admitted_since;  // among those that rotate
  std::optional<Time> waiting_since;
  WaitReason why = WaitReason::kNone;
  JobId blocked_by = 0;

  // The turn: from the first open gate until all gates are closed.
  bool in_turn = false;
  Time turn_start{0};
  Time ran{0};  // in the turns before
  std::uint64_t turns = 0;
  std::uint64_t entered = 0;            // order of entering
  std::optional<Time> filling_in_for;   // a shorter turn than a slice, beside an older waiter
  std::optional<Time> handover_began;   // the first CloseGate for this job
  std::optional<Time> held_back_since;  // it fits, beside jobs that may grow on
  bool displaced_others = false;        // gates were closed for it
  std::map<GpuId, Bytes> coming_in;     // what it lacked when it entered

  // Drains that failed.
  bool drain_failed = false;  // in this attempt
  Time closable_at{0};
  Time drain_backoff{0};
  Time evictable_at{0};  // host memory failed it

  std::optional<Time> peak_raised;  // when a client last had more memory than ever before
  Time ran_at_peak{0};              // how long the job had run by then

  // All the time that it ran.
  Time Ran(Time now) const { return ran + (in_turn ? now - turn_start : Time(0)); }
  bool Uses(GpuId gpu) const;
  bool GateOpenSomewhere() const;
  bool AllIdle() const;
};

// What keeps growth from being looked at: it never blocks a handover.
enum class Obstacle { kNone, kFixedMemory, kHostMemory };

struct PendingGrowth {
  ClientId client = 0;
  JobId job = 0;
  std::uint32_t request = 0;
  GpuId gpu = 0;
  GrowthKind kind = GrowthKind::kSwappable;
  Bytes bytes = 0;
  Time asked_at{0};
  bool approved = false;  // it fits beside all that run: waits only for evictions
  Obstacle obstacle = Obstacle::kNone;

  bool Blocked() const { return obstacle != Obstacle::kNone; }
};

struct PendingContext {
  ClientId client = 0;
  JobId job = 0;
  GpuId gpu = 0;
  Time asked_at{0};
  Obstacle obstacle = Obstacle::kNone;
};

struct Gpu {
  GpuConfig config;
  Bytes external = 0;
  Time external_changed{0};
  Time handover{0};  // moving average; 0: not measured
  double handover_byte =
      0;  // seconds that each byte that came in took, moving average; 0: not measured
  Bytes largest_context = 0;
  // The client that makes its context, and until when it may keep others waiting.
  std::optional<ClientId> maker;
  Time maker_limit{0};
  std::optional<ClientId> context_for;  // its context fits: waits only for evictions

  // With no process outside.
  Bytes Whole() const {
    return std::min(config.budget, config.total == 0 ? config.budget : config.total);
  }
  Bytes Limit() const {
    const Bytes budget = Whole();
    return budget > external ? budget - external : 0;
  }
};

using JobSet = std::set<JobId>;

class Books {
 public:
  explicit Books(const Config& initial) : config(initial) {}

  Client* Find(ClientId id);
  Holding* Find(ClientId id, GpuId gpu);
  Job* FindJob(JobId id);

  // All that a client may come to hold of a GPU while it runs.
  static Bytes Claim(const Client& client, GpuId gpu);
  // The part of it that stays when the client is swapped out.
  Bytes Fixed(const Client& client, GpuId gpu) const;
  Bytes Claim(const Job& job, GpuId gpu) const;
  Bytes Fixed(const Job& job, GpuId gpu) const;
  // What of others stays; what is as good as given to them, and not in their books yet, included.
  Bytes FixedOfOthers(JobId job, GpuId gpu) const;
  // Approved for a client and not given yet: growth that can move, or growth and a context that
  // cannot.
  Bytes ApprovedSwappable(const Client& client, GpuId gpu) const;
  Bytes ApprovedFixed(const Client& client, GpuId gpu) const;
  // What a job needs to be in: its claim, and growth that it waits for and that counts by then.
  Bytes Entry(const Job& job, GpuId gpu) const;
  bool ComesWithEntry(const PendingGrowth& growth) const;
  Bytes Need(const Job& job, GpuId gpu) const;
  // The credit that the next context of a GPU gets.
  Bytes ContextEstimate(const Gpu& gpu) const;

  // What all hold of a GPU when exactly the jobs of `in` are in.
  Bytes Demand(GpuId gpu, const JobSet& in) const;
  bool Fits(GpuId gpu, const JobSet& in) const;
  bool FitsAllGpusOf(const Job& job, const JobSet& in) const;
  // Whether a job could run with nobody else in: others' fixed memory may be in the way.
  bool CanRunAlone(const Job& job) const;
  // Somebody of the job is at the gate, or waits for pinned memory that needs its turn.
  bool Wants(const Job& job) const;

  Bytes CreditOut(GpuId gpu) const;
  // Negative when the budget was cut below what is out.
  std::int64_t Free(GpuId gpu) const;
  Bytes Returning(GpuId gpu) const;  // by evictions under way
  Bytes Deficit(const Client& client, GpuId gpu) const;
  Bytes Deficit(const Job& job, GpuId gpu) const;
  static bool Resident(const Client& client);

  // What an eviction could take from a client now, host memory aside.
  Bytes Evictable(const Client& client, GpuId gpu) const;
  Bytes HostReserved() const;
  static Bytes HostReserved(const Client& client);
  // How much of `bytes` may be evicted from a client with `host_free` bytes left to reserve.
  // Lessens host_free by what that reserves.
  static Bytes EvictableWithin(const Client& client, Bytes bytes, Bytes already, Bytes granule,
                               Bytes& host_free);

  JobSet InOrEntering() const;
  JobSet Leaving() const;
  std::uint32_t NextSerial() { return ++serial_ == 0 ? ++serial_ : serial_; }
  // Asks to be called again at a time at which something may be decided that could not be now.
  void WakeAt(Time time);
  // A condition on time; asks to be woken when it becomes true.
  bool Reached(Time time);

  // Who asked then and has no room because of processes outside has waited for them long enough;
  // else asks to be woken then. What they have had for long, they are taken to keep.
  bool OutsideStays(const Gpu& gpu, Time asked_at) {
    return Reached(std::min(asked_at, gpu.external_changed) + config.outside_patience);
  }

  // No client of an earlier daemon is expected any more; else asks to be woken then.
  bool AllAreKnown() { return Reached(all_known_at); }

  Config config;
  Time now{0};
  Time all_known_at{0};
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
  std::uint32_t serial_ = 0;
};

}  // namespace reveza::scheduler
