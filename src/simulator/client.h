// A simulated process: it makes contexts, allocates, computes, grows, frees, falls idle, and obeys
// the scheduler's orders as libreveza.so does, piece by piece and with all the delays.
//
// Thread-safety: none.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "simulator/world.h"

namespace reveza::simulator {

// What a process will do.
struct Plan {
  std::vector<GpuId> gpus;
  Bytes footprint = 0;      // allocated at the start, on each GPU
  Bytes piece = 0;          // of the footprint, with a step after each; 0: all at once
  Bytes surely_served = 0;  // growth up to this is never refused
  Bytes most = 0;           // it never asks for more swappable and pinned memory, on each GPU
  Bytes context = 16 * kMiB;
  Time work{0};  // GPU time until it is done
  Time step = std::chrono::milliseconds(20);
  double grows = 0;  // chance of each after a step
  double pins = 0;
  double frees = 0;
  double sleeps = 0;
  Time sleep{0};
  double undrainable = 0;  // chance that a step outlasts the drain limit by far
  double evict_fails = 0;
  bool resident_only = false;
};

class Client {
 public:
  Client(World& world, ClientId id, JobId job, const Plan& plan);

  void Begin();
  void Die();
  // The daemon is a new one.
  void Resume();
  void Obey(const scheduler::Decision& decision);

  std::optional<Time> WaitingSince() const { return waiting_since_; }
  const char* WaitsFor() const;
  std::uint64_t drains_failed() const { return drains_failed_; }
  Time worked() const { return worked_; }
  JobId job() const { return job_; }
  // Physical memory, true at this moment.
  Bytes Held(GpuId gpu) const;
  // Host memory that copies take.
  Bytes HostUsed() const;

 private:
  enum class Gate { kClosed, kClosing, kOpen };
  // What the one thread of the process is at.
  enum class At { kContext, kMaking, kGate, kGrowth, kStep, kSleep, kBetween };

  struct Card {
    scheduler::Footprint books;
    Bytes fresh = 0;  // of what is swapped: never written, so never copied
    Bytes credit = 0;
    Bytes context_credit = 0;
    Bytes coming_in = 0;  // a piece on the link
    std::uint32_t evict_serial = 0;
    Bytes evict_left = 0;
    bool piece_going_out = false;
  };
  struct Piece {
    GpuId gpu;
    Bytes bytes;
  };
  struct Growing {
    GpuId gpu;
    scheduler::GrowthKind kind;
    Bytes bytes;
    std::uint32_t request;
  };

  // The thread.
  void NextContext();
  void FinishContext(GpuId gpu);
  void TakeStep();
  void FinishStep(Time length);
  void WaitAtGate();
  void Grow(scheduler::GrowthKind kind);
  void AskGrowth();
  void SendGrowth();
  void EndGrowth();
  void FreeSome();
  void Sleep();
  void Wait(At what);
  void Proceed();
  void WatchIdle();
  void AllocateVirtually();
  Bytes Claim(GpuId gpu) const;

  // The agent.
  void Do(const scheduler::AdmitContext& order);
  void Do(const scheduler::AnswerGrowth& order);
  void Do(const scheduler::OpenGate& order);
  void Do(const scheduler::CloseGate& order);
  void Do(const scheduler::Evict& order);
  void Do(const scheduler::SwapIn& order);
  void Do(const scheduler::GiveCredit& order);
  void Do(const scheduler::SetContention& order);
  void Do(const scheduler::PrepareArena& order);
  void FinishClosing(std::uint32_t serial);
  void FailDrain(std::uint32_t serial);
  void GateIsOpen();
  void EvictPieces(GpuId gpu);
  void SendOut(GpuId gpu, Bytes piece, std::uint32_t serial);
  void GrowArena(Bytes bytes);
  void FinishEviction(GpuId gpu, scheduler::EvictFailure failure);
  void SwapInPieces(GpuId gpu);
  void ReportSwappedIn();
  void Account(GpuId gpu, Bytes returned = 0, EventKind kind = EventKind::kOther);
  Bytes Unused(const Card& card) const;

  World& world_;
  const ClientId id_;
  const JobId job_;
  const Plan plan_;
  std::map<GpuId, Card> cards_;
  bool dead_ = false;  // it goes in this very moment
  Gate gate_ = Gate::kClosed;
  bool told_gate_ = false;  // GateWanted was sent since the gate closed
  std::uint32_t close_serial_ = 0;
  std::uint32_t swap_in_serial_ = 0;
  bool contention_ = false;
  Time idle_after_{0};
  bool told_idle_ = false;
  At at_ = At::kBetween;
  std::size_t contexts_made_ = 0;
  Growing growing_{};             // request 0: it asks for nothing
  bool growth_deferred_ = false;  // kLater came while the gate was closing
  std::uint32_t next_request_ = 0;
  std::uint64_t step_ = 0;
  Time step_ends_{0};
  std::vector<Piece> to_allocate_;  // the last one first
  bool fills_ = false;              // a step between two pieces is due
  Bytes arena_ = 0;                 // pinned host memory
  std::map<Bytes, Time>
      arena_chunks_;  // how much there is at which time, pinning under way included
  std::uint64_t drains_failed_ = 0;
  std::optional<Time> waiting_since_;
  Time worked_{0};
};

}  // namespace reveza::simulator
