// Ledger of all jobs, clients and GPUs (entities.h), and the sums that decisions are based on. The
// rules that change it are in admission, growth, turns, eviction and gates. All containers are
// ordered by number, so that equal events give equal decisions.
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
#include <unordered_map>
#include <utility>
#include <vector>

#include "reveza/gpu/scheduler/entities.h"

namespace reveza::scheduler {

// A set of jobs, by number. Most have a few members and are copied often, so these are stored in
// place.
class JobSet {
 public:
  JobSet() = default;
  explicit JobSet(const Job& job) { insert(job); }

  void insert(const Job& job) {
    const std::size_t place = Place(job.id);
    if (place < size_ && begin()[place]->id == job.id) return;
    if (size_ == few_.size()) many_.assign(few_.begin(), few_.end());
    if (size_ >= few_.size()) {
      many_.insert(many_.begin() + static_cast<std::ptrdiff_t>(place), &job);
    } else {
      std::copy_backward(few_.begin() + place, few_.begin() + size_, few_.begin() + size_ + 1);
      few_[place] = &job;
    }
    ++size_;
  }
  void erase(const Job& job) {
    const std::size_t place = Place(job.id);
    if (place == size_ || begin()[place]->id != job.id) return;
    const Job** first = size_ > few_.size() ? many_.data() : few_.data();
    std::copy(first + place + 1, first + size_, first + place);
    if (--size_ == few_.size()) std::copy_n(first, size_, few_.begin());
    if (size_ > few_.size()) many_.pop_back();
  }
  bool contains(JobId id) const {
    const std::size_t place = Place(id);
    return place < size_ && begin()[place]->id == id;
  }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const Job* const* begin() const { return size_ > few_.size() ? many_.data() : few_.data(); }
  const Job* const* end() const { return begin() + size_; }

 private:
  // Returns the index of the first whose number is not less than `id`.
  std::size_t Place(JobId id) const {
    const auto place = std::ranges::lower_bound(begin(), end(), id, {}, &Job::id);
    return static_cast<std::size_t>(place - begin());
  }

  std::size_t size_ = 0;
  std::array<const Job*, 8> few_{};
  std::vector<const Job*> many_;  // all of them, if they are more
};

class Ledger {
 public:
  explicit Ledger(const Config& initial) : config(initial) {}

  Client* Find(ClientId id);
  Holding* Find(ClientId id, GpuId gpu);

  void Add(const PendingGrowth& growth);
  void Add(const PendingContext& context);
  // Return the next one.
  std::list<PendingGrowth>::iterator Erase(std::list<PendingGrowth>::iterator growth);
  std::list<PendingContext>::iterator Erase(std::list<PendingContext>::iterator context);
  // Calls `visit(job)` for each job of a set that uses the GPU, none of which is parked.
  template <typename Visit>
  void ForEachOf(const JobSet& set, GpuId gpu, Visit visit) const {
    const std::vector<Job*>& here = gpus.at(gpu).jobs;
    if (set.size() < here.size()) {
      for (const Job* job : set) {
        if (job->Uses(gpu)) visit(*job);
      }
      return;
    }
    for (const Job* job : here) {
      if (set.contains(job->id)) visit(*job);
    }
  }
  // Calls `visit(job)` for each job that uses the GPU, in no particular order.
  template <typename Visit>
  void ForEachJobOn(GpuId gpu, Visit visit) const {
    const Gpu& card = gpus.at(gpu);
    for (const Job* job : card.jobs) visit(*job);
    card.parked.ForEach([&](const Job& job) { visit(job); });
  }

  // Returns the maximum that a client can hold on a GPU while it runs, with what it may allocate.
  static Bytes Claim(const Client& client, GpuId gpu);
  // Returns whether contexts are a part of what is promised to the job. A promise of less than they
  // take is kept without them, or two such jobs could stand in each other's way for ever.
  bool KeepsContexts(const Job& job) const;
  // Returns whether its contexts can leave, once it is suspended and its memory is evicted.
  bool HasMovableContexts(const Client& client) const;
  // Returns the part of the claim that cannot be evicted. Contexts that can leave are a part of it
  // only where the GPU is not crowded.
  Bytes Fixed(const Client& client, GpuId gpu) const;
  Bytes Claim(const Job& job, GpuId gpu) const;
  // Also what its policy keeps on the GPU.
  Bytes Fixed(const Job& job, GpuId gpu) const;
  // Returns its claim with all that is approved for it.
  Bytes Committed(const Job& job, GpuId gpu) const;
  // Returns what a job may have on a GPU: the limit of its policy, or what other jobs of its
  // account leave of their quota if that is less.
  Bytes Limit(const Job& job, GpuId gpu) const;
  // Returns its contexts and pinned memory, wherever they are.
  static Bytes Unmovable(const Job& job, GpuId gpu);
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
  // Return what the job needs to run beyond its fixed memory (which may be less than 0, modulo
  // 2^64), and that with what else it adds to sums of the GPU.
  Bytes Movable(const Job& job, GpuId gpu) const {
    return memo_ ? ShareOf(job, gpu).movable : EntryNeed(job, gpu) - Fixed(job, gpu);
  }
  const JobShare& ShareOf(const Job& job, GpuId gpu) const;  // while frozen
  Bytes Need(const Job& job, GpuId gpu) const;
  // Returns the credit to reserve for the next context on a GPU.
  Bytes ContextEstimate(const Gpu& gpu) const;

  // While one lives, sums over all jobs and the order of eviction are computed only once: a pass
  // that asks for each waiting job takes linear time. Memory, credit and policies must not change
  // meanwhile; an inner one computes only the order anew.
  class Frozen {
   public:
    explicit Frozen(const Ledger& ledger);
    ~Frozen();
    Frozen(const Frozen&) = delete;
    Frozen& operator=(const Frozen&) = delete;

    // Computes anew, after a job has left or has changed its place in the order of eviction.
    void Refresh() { ledger_.Forget(); }

   private:
    const Ledger& ledger_;
    const bool is_outermost_;
  };

  // Returns the jobs on a GPU in the order of eviction: the one that runs last goes first. Only
  // those that are not active are evicted. Valid until the next call.
  const std::vector<Job*>& EvictionOrder(GpuId gpu);
  // Returns those of which something can be evicted from the GPU.
  const std::vector<Job*>& EvictionCandidates(GpuId gpu);
  // Returns whether contexts of some client in scope are away.
  bool AnyContextsAway() const;
  // Return `compute()`: whether a rotation is safe (host_memory.cc), and what a handover costs
  // (slices.cc); while frozen, as computed the first time.
  template <typename Compute>
  bool RotationIsSafe(Compute compute) const {
    return Remembered(&Memo::rotation_is_safe, compute);
  }
  template <typename Compute>
  Time HandoverCost(GpuId gpu, Compute compute) const {
    return Memoized(&GpuSums::handover_cost, gpu, compute);
  }

  // Returns the fixed memory of all jobs.
  Bytes FixedOfAll(GpuId gpu) const;
  Bytes ReservedOfAll(GpuId gpu) const;
  // Returns the total demand on a GPU when exactly the jobs in `active` are active, or all jobs.
  Bytes Demand(GpuId gpu, const JobSet& active) const;
  Bytes DemandOfAll(GpuId gpu) const;
  // Returns what is approved for the next context.
  Bytes ApprovedContext(GpuId gpu) const;
  bool Fits(GpuId gpu, const JobSet& active) const;
  bool FitsAllGpusOf(const Job& job, const JobSet& active) const;
  // Returns whether the job fits as the only active one, beside the fixed memory of the others.
  bool CanRunAlone(const Job& job) const;
  // Returns whether a thread of the job waits at the gate, or for pinned memory or a context that
  // requires a turn; never if it is paused.
  bool WantsToRun(const Job& job) const;
  // Returns whether the contexts that the client has must come back before it can make another: the
  // request crossed the order to release them.
  bool AwaitsOwnContexts(const PendingContext& context) const {
    return jobs.at(context.job).clients.at(context.client).contexts != Contexts::kHere;
  }

  Bytes OutstandingCredit(GpuId gpu) const;
  // Returns the credit left; negative after a budget cut.
  std::int64_t Free(GpuId gpu) const;
  // Returns what the evictions in progress, and contexts that are leaving, will free.
  Bytes PendingEvictions(GpuId gpu) const;
  // Returns whether its contexts are leaving, as far as is known.
  static bool LeavesCard(const Client& client);
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
  // Return what can be evicted of a job, or of all, beyond the evictions in progress, if the host
  // has room; of all: 0 if one of them must not be evicted yet.
  Bytes EvictableNow(const Job& job, GpuId gpu) const;
  Bytes EvictableOfAll(GpuId gpu) const;
  // Returns the host memory that there is for copies: not what holds memory at its place.
  Bytes HostBudget() const;
  Bytes HostReserved() const;
  // Return what is reserved for host copies, and that with what the driver keeps of contexts that
  // are away.
  static Bytes HostCopies(const Client& client);
  static Bytes HostReserved(const Client& client);
  // Returns how much of `bytes` can be evicted from a client with `host_free` bytes of host memory
  // left, beside `already` that is being evicted. Deducts the reservation from host_free.
  static Bytes EvictableWithin(const Client& client, Bytes bytes, Bytes already, Bytes granule,
                               Bytes& host_free);

  template <typename Value>
  Bytes SumOverClients(Value value) const {
    return SumOver(jobs, [&](const Job& job) { return SumOver(job.clients, value); });
  }
  // Returns those in scope for which `predicate` holds.
  template <typename Predicate>
  JobSet JobsWith(Predicate predicate) const {
    JobSet set;
    for (const Job* job : scope.jobs) {
      if (predicate(*job)) set.insert(*job);
    }
    return set;
  }
  // Returns those in the order of `key`, computed once per job.
  template <typename Key, typename Predicate>
  std::vector<Job*> JobsSortedBy(Key key, Predicate predicate) const {
    return SortedBy(scope.jobs, key, predicate);
  }
  template <typename Key, typename Predicate>
  static std::vector<Job*> SortedBy(const std::vector<Job*>& jobs, Key key, Predicate predicate) {
    using Position = std::pair<std::decay_t<std::invoke_result_t<Key, const Job&>>, JobId>;
    std::vector<std::pair<Position, Job*>> sorted;
    sorted.reserve(jobs.size());
    for (Job* job : jobs) {
      if (predicate(*job)) sorted.emplace_back(Position(std::invoke(key, *job), job->id), job);
    }
    std::ranges::sort(sorted, {}, [](const auto& entry) -> const Position& { return entry.first; });
    std::vector<Job*> found;
    found.reserve(sorted.size());
    for (const auto& [position, job] : sorted) found.push_back(job);
    return found;
  }
  JobSet ActiveJobs() const {
    return JobsWith([](const Job& job) { return job.Active(); });
  }
  // Returns those that leave in the group of the job's GPUs.
  JobSet LeavingJobs(const Job& job) const {
    return JobsWith([&](const Job& other) {
      return other.phase == Phase::kLeaving && !other.uses.empty() && !job.uses.empty() &&
             gpus.at(other.uses.front()).group == gpus.at(job.uses.front()).group;
    });
  }
  std::uint32_t NextSerial() { return ++serial_ == 0 ? ++serial_ : serial_; }
  // Requests a wake-up at `time`, when the decisions may differ.
  void WakeAt(Time time);
  // Notes that they may differ from `time` on, but that this can wait for another event.
  void DueAt(Time time);
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

  bool InScope(GpuId gpu) const { return gpus.at(gpu).in_scope; }

  // Returns whether all clients of a previous daemon have reconnected; otherwise requests a
  // wake-up.
  bool TakeoverSettled() { return Reached(takeover_settled_at); }

  Config config;
  Time now{0};
  Time takeover_settled_at{0};
  std::optional<Time> wake;
  std::optional<Time> due;
  std::uint64_t changes = 0;  // of jobs that another pass would see and that are no decisions
  std::map<JobId, Job> jobs;
  std::unordered_map<ClientId, JobId> job_of;
  FlatMap<GpuId, Gpu> gpus;
  std::map<AccountId, Quota> quotas;
  bool has_quotas = false;  // one of them restricts something
  std::list<PendingGrowth> growths;
  std::list<PendingContext> contexts;
  std::vector<Decision> decisions;
  std::uint64_t next_rank = 0;
  std::uint64_t next_entered = 0;
  std::optional<Time> arena_grew_at;  // when a client last reported more host memory than before

  // What the present event concerns: passes look at nothing else. See scope.h.
  struct Scope {
    std::vector<Job*> jobs;                    // not parked, by number
    std::vector<std::pair<GpuId, Gpu*>> gpus;  // by number
    bool everything = false;
    std::size_t groups = 0;
    std::size_t evicting = 0;  // how many of its GPUs were evicting after the last event
  };
  Scope scope;
  std::vector<Job*> homeless;  // jobs that use no GPU and are not parked: always in scope
  // What the next event concerns, besides what wakes.
  std::vector<GpuId> touched_gpus;
  std::vector<JobId> touched_jobs;
  std::set<std::pair<Time, GpuId>> wakes;  // of groups
  std::set<std::pair<Time, GpuId>> dues;
  std::optional<Time> common_wake;  // of everything, or of the homeless jobs
  bool divided = false;             // groups of GPUs do not depend on each other
  bool ample_host = false;          // the host has room for whatever may be evicted
  Bytes host_bound = 0;             // sum over all jobs
  std::size_t evicting = 0;         // GPUs with evictions in progress
  bool deadlocks_unseen = false;    // there were evictions, during which no deadlock is broken
  std::size_t considered = 0;       // jobs, by the last event
  int passes = 0;                   // of the last event
  std::size_t overfull = 0;         // GPUs on which not all jobs fit together
  bool arenas_sent = false;         // to all clients, as far as they needed one then

 private:
  struct Memo {
    std::optional<Bytes> host_reserved;
    std::optional<Bytes> on_host;
    std::optional<bool> rotation_is_safe;
    std::optional<bool> any_contexts_away;
  };

  void Forget() const {
    memo_.emplace();
    ++freeze_;
    ++freeze_of_orders_;
  }
  // Returns whether the sums are still right.
  bool Confirms(const Memo& memo) const;
  JobShare ComputeShare(const Job& job, GpuId gpu) const;
  // Returns the sum of `value(other)` over the other jobs of the job's account.
  template <typename Value>
  Bytes SumOverAccount(const Job& job, Value value) const {
    return SumOver(jobs, [&](const Job& other) {
      return other.id != job.id && other.account == job.account ? value(other) : 0;
    });
  }
  // Return `compute()` or `sum()`; while frozen, as computed the first time.
  template <typename T, typename Compute>
  T Remembered(std::optional<T> Memo::* known, Compute compute) const {
    if (!memo_) return compute();
    std::optional<T>& value = (*memo_).*known;
    if (!value) value = compute();
    return *value;
  }
  template <typename T, typename Sum>
  T Memoized(Known<T> GpuSums::* member, GpuId gpu, Sum sum) const {
    if (!memo_) return sum();
    Known<T>& known = gpus.at(gpu).sums.*member;
    if (known.freeze != freeze_) known = {freeze_, sum()};
    return known.value;
  }

  std::uint32_t serial_ = 0;
  mutable std::optional<Memo> memo_;
  mutable std::uint64_t freeze_ = 0;  // how often sums were forgotten
  mutable std::uint64_t freeze_of_orders_ = 0;
};

}  // namespace reveza::scheduler
