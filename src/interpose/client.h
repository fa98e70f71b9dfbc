// This process as a client: what the hooks know and ask. One object, made with the first context,
// never destroyed (threads may be in the middle of a call when the process exits); none in a
// process that never makes a context, with REVEZA_DISABLE=1, or in the child of a fork.
//
// Thread-safety: every method from any thread of the application. Methods that wait say so; they
// must not be called with a lock held.
#pragma once

#include <cuda.h>

#include <atomic>
#include <vector>

#include "base/bytes.h"
#include "interpose/captures.h"
#include "interpose/counted.h"
#include "swap/arena.h"
#include "swap/driver.h"
#include "swap/ledger.h"
#include "swap/mover.h"
#include "swap/sync.h"
#include "wire/messages.h"

namespace reveza::interpose {

// An unknown entry of the driver was called (resolver.h): its effects cannot be undone, so the
// client stays resident from then on. One warning each name.
void OnUnknownCall(const char* name);

// How a request of the application ended.
enum class Answer { kGranted, kRefused, kLater };

struct ContextRequest {
  int ordinal = 0;
  CUuuid uuid{};
  Bytes total = 0;
  bool sent = false;
  bool answered = false;
  Bytes budget = 0;
  Bytes credit = 0;
};

struct GrowthRequest {
  std::uint32_t number = 0;
  int ordinal = 0;
  wire::GrowthKind kind = wire::GrowthKind::kSwappable;
  Bytes bytes = 0;
  Bytes asked = 0;     // of the daemon: a little more
  bool exact = false;  // a little more was refused
  bool sent = false;
  bool answered = false;
  Answer answer = Answer::kRefused;
};

class Client {
 public:
  // Null when there is none.
  static Client* Get() { return instance_.load(std::memory_order_acquire); }
  // Makes the client and starts its agent if need be. Null: disabled, or after a fork.
  static Client* Start();

  swap::Ledger& ledger() { return ledger_; }
  swap::HostArena& arena() { return arena_; }
  Captures& captures() { return captures_; }
  CountedObjects& counted() { return counted_; }
  PoolBooks& pools() { return pools_; }
  SetAside& set_aside() { return set_aside_; }
  const swap::Driver& swap_driver() const { return swap_driver_; }
  // `--resident`: allocations are the driver's own, counted, never moved.
  bool resident() const { return resident_; }
  // The emulated budget for a card of `total` bytes, or `total`.
  static Bytes EmulatedTotal(Bytes total);

  // ---- contexts ----
  // Waits until the daemon admits a context on the device, the first time. With no daemon: at
  // once. Lines on stderr tell what it waits for.
  void BeforeContext(int ordinal);
  // The context was made (null: the driver refused).
  void AfterContext(int ordinal, CUcontext context);
  // `context` is about to end: waits for a step of a handover, frees what it allocated, and forgets
  // what the agent keeps in it.
  void ContextEnds(CUcontext context);
  // Releases a primary context with `release`; if that was the last reference, it has ended.
  CUresult ReleasePrimary(CUdevice device, CUcontext context, CUresult (*release)(CUdevice));

  // ---- memory ----
  // Asks the daemon for credit and waits. kLater: the gate is closed or closing, and the ledger may
  // give virtual memory instead.
  Answer AskGrowth(int ordinal, wire::GrowthKind kind, Bytes bytes);
  // Counts `bytes` of memory that stays in the card; waits for room. Inside or outside the gate.
  Answer ReservePinned(int ordinal, Bytes bytes);
  void ReleasePinned(int ordinal, Bytes bytes);
  // The books have changed; the daemon is told soon.
  void BooksChanged();
  // The current device may (or may not) use the memory of `peer_context`'s device.
  void SetPeerAccess(CUcontext peer_context, bool enabled);
  // From now on nothing of this client moves. `why` is for the warning.
  void StayResident(const char* why);
  bool stays_resident() const { return stays_resident_.load(std::memory_order_relaxed); }

  // ---- the gate ----
  void AtClosedGate();
  void CopyWhy(char* out, std::size_t capacity) const;

 private:
  friend class Agent;
  Client();
  static void MakeInstance();
  static void InChild();
  static void* AgentMain(void* client);

  bool WaitFor(const bool& answered, const char* what);
  void Wake();
  bool ForgetContext(CUcontext context, int* ordinal);
  // All live contexts; and one of a device, or null.
  std::vector<CUcontext> Contexts() const;
  CUcontext ContextOf(int ordinal) const;
  // Pins host memory in a thread of its own.
  void PrepareArena(Bytes bytes);
  static void* PrepareMain(void* client);

  static std::atomic<Client*> instance_;

  swap::Driver swap_driver_{};
  swap::HostArena arena_;
  swap::Ledger ledger_;
  Captures captures_;
  CountedObjects counted_;
  PoolBooks pools_;
  SetAside set_aside_;
  std::uint64_t job_ = 0;
  bool resident_ = false;
  std::atomic<bool> stays_resident_{false};
  std::atomic<bool> books_changed_{false};
  std::atomic<bool> at_gate_{false};
  int wake_fd_ = -1;

  swap::Mutex requests_mutex_;
  swap::Condition answered_;
  std::vector<ContextRequest*> contexts_wanted_;
  std::vector<GrowthRequest*> growth_wanted_;
  std::vector<GrowthRequest*> growth_sent_;
  std::uint32_t next_request_ = 1;
  struct Admitted {
    int ordinal;
    bool made;
  };
  std::vector<Admitted> admitted_;           // devices that the daemon has admitted us to
  std::vector<std::pair<int, Bytes>> made_;  // contexts made, not yet reported

  struct LiveContext {
    int ordinal;
    CUcontext context;
  };
  mutable swap::Mutex contexts_mutex_;
  std::vector<LiveContext> live_contexts_;

  // Held by the agent while it uses contexts or moves memory: they must not end meanwhile.
  swap::Mutex moving_mutex_;
  swap::Mover mover_;

  std::atomic<Bytes> arena_wanted_{0};
  std::atomic<bool> arena_in_preparation_{false};

  mutable swap::Mutex why_mutex_;
  char why_[200] = "";
};

}  // namespace reveza::interpose
