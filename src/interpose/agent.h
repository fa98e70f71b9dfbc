// The agent: one thread of the process that talks to the daemon and does what it orders: closes
// and opens the gate, drains, moves memory. It uses the application's own contexts (a context
// costs 0.6 GiB) and never changes what the application's threads see as current.
//
// Orders are carried out one after the other; the daemon's messages wait in the socket meanwhile.
// A swap-in is done in steps between messages, because credit for it arrives while it goes on.
//
// What the threads ask for is in agent_requests.cc, the gate in agent_gate.cc. Without a daemon
// (none, gone, or of another version) the client runs on alone: agent_alone.cc. Thread-safety:
// everything here runs on the agent's thread.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "interpose/client.h"
#include "interpose/connection.h"
#include "swap/mover.h"
#include "wire/messages.h"

namespace reveza::interpose {

class Agent {
 public:
  explicit Agent(Client& client);
  void Run();

 private:
  struct Gpu {
    int ordinal = 0;
    std::uint32_t number = 0;  // the daemon's
    CUuuid uuid{};
    Bytes total = 0;
    Bytes granule = 0;
    bool admitted = false;  // by the daemon that is connected
    bool granted = false;   // a context, by some daemon or alone
  };
  enum class GateState {
    kOpen,
    kClosed,
    kOpening,  // ordered open; the last physical memory is being made
  };

  // ---- the loop ----
  int Timeout() const;
  void Wait();
  void Receive();
  void Handle(wire::Type type);
  void ServeRequests();
  void SendContexts();
  Bytes WorthAsking(const GrowthRequest& request, const Gpu& gpu) const;
  void SendGrowth();
  void Periodic();

  // ---- orders ----
  void OnWelcome(const wire::Welcome& welcome);
  void OnAdmitted(const wire::ContextAdmitted& admitted);
  void OnGrowthAnswer(const wire::GrowthAnswer& answer);
  void OnOpenGate();
  void OnCloseGate(const wire::CloseGate& order);
  void OnEvict(const wire::Evict& order);
  void OnSwapIn(const wire::SwapIn& order);
  void OnCredit(const wire::Credit& credit);
  void OnContention(const wire::Contention& contention);
  void OnPrepareArena(const wire::PrepareArena& order);

  void ContinueSwapIn();
  void ContinueOpening();
  void OpenNow();
  // Waits until the GPU has done all that was submitted. false: not within `limit_us`.
  bool Drain(std::int64_t limit_us);
  bool DrainContext(CUcontext context, std::int64_t until_us);
  bool CaptureInProgress();
  void CheckIdle();
  void ReportBooks();
  void SendAccount(Gpu& gpu, Bytes returned);
  static void OnFreed(void* agent, int ordinal, Bytes bytes);
  Gpu* FindGpu(int ordinal);
  Gpu* FindNumber(std::uint32_t number);

  // ---- alone ----
  void Connect();
  void LoseDaemon();
  bool MayReturnSoon() const;
  void TryReconnect();
  void TryComeBack();
  bool BringInAlone();
  void AnswerAllAlone();

  Client& client_;
  swap::Mover& mover_;
  Connection connection_;
  std::vector<Gpu> gpus_;

  bool welcomed_ = false;
  bool refused_ = false;  // never try again
  bool warned_alone_ = false;
  std::int64_t next_try_us_ = 0;
  std::int64_t alone_from_us_ = 0;  // until then a daemon that was lost may be started again

  GateState gate_ = GateState::kOpen;
  bool contention_ = false;
  std::int64_t idle_after_us_ = 0;
  std::uint64_t last_submissions_ = 0;
  std::int64_t last_submission_us_ = 0;
  bool idle_reported_ = false;

  bool swapping_in_ = false;
  bool told_to_open_ = false;  // by the daemon, perhaps before there is a context
  bool retry_soon_ = false;    // the driver refused; try again in a moment
  std::uint32_t swap_in_serial_ = 0;
  std::int64_t swap_in_began_us_ = 0;  // first credit
  Bytes swapped_in_ = 0;
  bool gate_wanted_sent_ = false;
  std::int64_t next_books_us_ = 0;
};

}  // namespace reveza::interpose
