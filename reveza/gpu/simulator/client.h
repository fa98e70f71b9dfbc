// A simulated process: creates contexts, allocates, computes, grows, frees, sleeps, and carries out
// the scheduler's orders like libreveza.so, piece by piece and with delays.
//
// Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "reveza/gpu/simulator/world.h"

namespace reveza::simulator {

// What a simulated process does.
struct Plan {
  std::vector<GpuId> gpus;
  Bytes footprint = 0;  // allocated at the start, on each GPU
  Bytes piece = 0;      // allocation unit of the footprint, with a step after each; 0: all at once
  Bytes guaranteed_growth = 0;  // growth up to this total is never refused
  Bytes max_footprint = 0;      // maximum of swappable and pinned memory, on each GPU
  Bytes context = 16 * kMiB;
  Time work{0};  // GPU time until it exits
  Time step = std::chrono::milliseconds(20);
  double fills = 1;             // share of a GPU that its kernels keep busy
  double grow_probability = 0;  // each after a step
  double pin_probability = 0;
  double free_probability = 0;
  double sleep_probability = 0;
  Time sleep_time{0};
  double stuck_probability = 0;  // that a step exceeds the drain limit by far
  double evict_failure_probability = 0;
  // If not 0, it is a rank: the last of so many submissions of each step is a collective with the
  // other ranks of its job. It submits `run_ahead` more before it waits for one.
  std::uint32_t submissions_per_collective = 0;
  std::uint32_t run_ahead = 0;
  bool resident_only = false;
  bool movable_contexts = false;
  double busy_release_probability = 0;  // that a thread is in a call
  bool refuses_release = false;         // the driver does
  scheduler::Policy policy;             // of its job; that of the client which joins last counts
  std::optional<scheduler::AccountId> account;
  scheduler::Quota quota;  // of the account
};

class Client {
 public:
  Client(World& world, ClientId id, JobId job, const Plan& plan);

  void Start();
  void Exit();
  // Reconnects to a restarted daemon.
  void Resume();
  void Execute(const scheduler::Decision& decision);
  // Called by Collectives.
  void Begin();
  void FinishCollective(Time length);

  std::optional<Time> WaitingSince() const { return waiting_since_; }
  const char* WaitReasonText() const;
  std::uint64_t failed_drains() const { return failed_drains_; }
  Time worked() const { return worked_; }
  JobId job() const { return job_; }
  bool contexts_away() const { return contexts_ == Contexts::kAway; }
  // Returns the physical GPU memory held now.
  Bytes Held(GpuId gpu) const;
  // Returns the host memory used by host copies.
  Bytes HostUsed() const;

 private:
  enum class Gate { kClosed, kAdmitting, kClosing, kOpen };
  // What the single thread of the process is doing.
  // kPeers: waits on the processor for ranks that have no context yet.
  enum class Activity { kContext, kCreatingContext, kPeers, kGate, kGrowth, kStep, kSleep, kNone };

  struct GpuState {
    scheduler::Footprint footprint;
    Bytes never_written = 0;  // part of `swapped` that needs no copy
    Bytes credit = 0;
    Bytes context_credit = 0;
    Bytes swapping_in = 0;         // piece being copied
    bool swapping_in_new = false;  // it was never written
    std::uint32_t evict_serial = 0;
    Bytes evict_left = 0;
    bool swapping_out = false;
  };
  struct Piece {
    GpuId gpu;
    Bytes bytes;
  };
  struct GrowthRequest {
    GpuId gpu;
    scheduler::GrowthKind kind;
    Bytes bytes;
    std::uint32_t request;
  };

  // Sends an event of this client, a member function of Scheduler, with its arguments.
  template <typename... Parameters, typename... Arguments>
  void Send(EventKind kind, void (scheduler::Scheduler::*event)(Time, ClientId, Parameters...),
            Arguments... arguments) {
    world_.Send(id_, kind, [id = id_, event, arguments...](scheduler::Scheduler& s, Time now) {
      (s.*event)(now, id, arguments...);
    });
  }

  void JoinScheduler();

  // The thread.
  void NextContext();
  void FinishContext(GpuId gpu);
  void TakeStep();
  void FinishStep(Time length);
  void SubmitCollective();
  void AfterStep();
  // Passes the gate, or uses one of the submissions that it admits.
  bool PassGate();
  // Returns whether the GPU has completed all that was submitted.
  bool IsDrained() const { return submitted_ == completed_ && activity_ != Activity::kStep; }
  void WaitAtGate();
  void Grow(scheduler::GrowthKind kind);
  void RequestGrowth();
  void SendGrowth();
  void FinishGrowth();
  void FreeSome();
  void Sleep();
  void Wait(Activity what);
  void Proceed();
  void WatchIdle();
  void AllocateVirtually();

  // The agent.
  void Do(const scheduler::AdmitContext& order);
  void Do(const scheduler::RefuseContext& order);
  void Do(const scheduler::AnswerGrowth& order);
  void Do(const scheduler::OpenGate& order);
  void Do(const scheduler::CloseGate& order);
  void Do(const scheduler::Evict& order);
  void Do(const scheduler::SwapIn& order);
  void Do(const scheduler::GiveCredit& order);
  void Do(const scheduler::SetContention& order);
  void Do(const scheduler::SetQueueBound&) {}  // its drains take the same time
  void Do(const scheduler::PrepareArena& order);
  void Do(const scheduler::ReleaseContexts& order);
  void Do(const scheduler::RestoreContexts& order);
  void FinishRelease();
  void FinishRestore();
  void Admit(const scheduler::CloseGate& order);
  void StartClosing(const scheduler::CloseGate& order);
  void ReportDraining(std::uint32_t serial);
  void FinishClosing(std::uint32_t serial);
  void FailDrain(std::uint32_t serial);
  void OnGateOpened();
  void EvictPieces(GpuId gpu);
  void CopyOut(GpuId gpu, Bytes piece, std::uint32_t serial);
  void GrowArena(Bytes bytes);
  void FinishEviction(GpuId gpu, scheduler::EvictFailure failure);
  void SwapInPieces(GpuId gpu);
  static void FinishSwapIn(GpuState& state, Bytes piece);
  void ReportSwappedIn();
  void Account(GpuId gpu, Bytes returned = 0, EventKind kind = EventKind::kOther);
  Bytes Unused(const GpuState& state) const;

  World& world_;
  const ClientId id_;
  const JobId job_;
  const Plan plan_;
  std::map<GpuId, GpuState> gpus_;
  int resumed_ = 0;    // how often
  bool dead_ = false;  // removed by an action that is already scheduled
  Gate gate_ = Gate::kClosed;
  bool gate_requested_ = false;  // GateRequested sent since the gate closed
  std::uint32_t close_serial_ = 0;
  std::uint32_t failed_close_serial_ = 0;
  scheduler::CloseGate admission_{};  // of kAdmitting
  std::uint32_t admitted_ = 0;        // submissions left of it
  std::uint32_t swap_in_serial_ = 0;
  enum class Contexts { kHere, kLeaving, kAway, kComing };
  Contexts contexts_ = Contexts::kHere;
  std::uint32_t contexts_serial_ = 0;
  bool contention_ = false;
  Time idle_after_{0};
  bool idle_reported_ = false;
  Activity activity_ = Activity::kNone;
  std::size_t contexts_created_ = 0;
  GrowthRequest growth_{};        // request 0: none
  bool growth_deferred_ = false;  // kLater arrived while the gate was closing
  std::uint32_t next_request_ = 0;
  std::uint64_t step_ = 0;
  std::uint32_t submissions_ = 0;  // of the current step, if a rank
  std::uint64_t submitted_ = 0;    // collectives
  std::uint64_t completed_ = 0;
  std::vector<Piece> to_allocate_;  // in reverse order
  bool step_due_ = false;           // a step is due before the next piece
  Bytes arena_ = 0;                 // pinned host memory
  std::map<Bytes, Time>
      arena_chunks_;  // how much there is at which time, pinning under way included
  std::uint64_t failed_drains_ = 0;
  std::optional<Time> waiting_since_;
  Time worked_{0};
};

}  // namespace reveza::simulator
