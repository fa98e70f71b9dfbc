#include "reveza/gpu/interpose/agent.h"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/gate_wait.h"
#include "reveza/gpu/interpose/policy.h"
#include "reveza/gpu/interpose/rdma.h"

namespace reveza::interpose {
namespace {

constexpr std::int64_t kUsageIntervalUs = 50'000;  // minimum interval between accounting reports
constexpr int kIdleTimeoutMs = 1000;
constexpr int kContentionTimeoutMs = 5;  // interval of the idle check
constexpr int kRetryTimeoutMs = 2;       // when waiting for memory to be released

}  // namespace

Agent::Agent(Client& client)
    : client_(client),
      requires_daemon_(Client::IsSet("REVEZA_REQUIRE_DAEMON", "1")),
      policy_(ParsePolicy(getenv("REVEZA_POLICY"))) {}

void Agent::Run() {
  prctl(PR_SET_NAME, "reveza-agent");  // in debuggers and `top -H`
  const RelaxedCapture relaxed;
  Connect();
  for (;;) {
    {
      MutexLock moving(client_.moving_mutex_);
      Receive();
      ContinueAdmitting();
      ServeRequests();
      ContinueSwapIn();
      ContinueOpening();
      Periodic();
      ContinuePlacement();
    }
    Wait();
  }
}

int Agent::TimeoutMs() const {
  if (retry_soon_) return kRetryTimeoutMs;
  if (swapping_in_ || gate_ == GateState::kOpening) return 20;
  if (contention_ && gate_ == GateState::kOpen) return kContentionTimeoutMs;
  if (places_ && gate_ == GateState::kOpen) {
    const std::int64_t left = next_round_us_ - NowMicroseconds();
    return static_cast<int>(std::clamp<std::int64_t>(left / 1000 + 1, 1, kIdleTimeoutMs));
  }
  if (!connection_.is_open()) {
    return gate_ == GateState::kClosed || InGracePeriod() ? 100 : kIdleTimeoutMs;
  }
  return client_.usage_changed_.load(std::memory_order_relaxed) ? int(kUsageIntervalUs / 1000)
                                                                : kIdleTimeoutMs;
}

void Agent::Wait() {
  pollfd fds[2] = {{client_.wake_fd_, POLLIN, 0}, {connection_.fd(), POLLIN, 0}};
  poll(fds, connection_.is_open() ? 2 : 1, TimeoutMs());
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(client_.wake_fd_, &count, sizeof(count));
}

void Agent::Receive() {
  wire::Type type{};
  const bool was_open = connection_.is_open();
  while (connection_.Receive(&type)) Dispatch(type);
  if (connection_.other_version() != 0 && !refused_) {
    refused_ = true;
    PrintNotice(
        "the daemon speaks version %u of the protocol, this program's libreveza.so version %u: it "
        "runs without sharing the GPU; to replace the daemon, stop it with `reveza stop`",
        static_cast<unsigned>(connection_.other_version()), static_cast<unsigned>(wire::kVersion));
  }
  if (!connection_.is_open() && (was_open || welcomed_)) OnConnectionLost();
}

void Agent::Dispatch(wire::Type type) {
  // The analysis does not see that this lambda is called here, with the mutex held.
  const auto handle = [this](const auto& message) NO_THREAD_SAFETY_ANALYSIS { Handle(message); };
  const bool known =
      wire::Dispatch<wire::Welcome, wire::Refused, wire::ContextAdmitted, wire::GrowthAnswer,
                     wire::OpenGate, wire::CloseGate, wire::Evict, wire::SwapIn, wire::Credit,
                     wire::Contention, wire::PrepareArena, wire::WaitMessage, wire::ContextRefused,
                     wire::Policy, wire::QueueBound, wire::ReleaseContexts, wire::RestoreContexts>(
          type, connection_.packet(), handle);
  if (!known) connection_.Close();  // not a message of a daemon
}

void Agent::Handle(const wire::Policy& policy) { policy_ = policy; }

void Agent::Handle(const wire::WaitMessage& why) {
  MutexLock lock(client_.wait_reason_mutex_);
  memcpy(client_.wait_reason_, why.text, sizeof(client_.wait_reason_));
}

Agent::Gpu& Agent::AddGpu(const ContextRequest& request) {
  return gpus_.emplace_back(
      Gpu{.ordinal = request.ordinal, .uuid = request.uuid, .total = request.total});
}

Agent::Gpu* Agent::FindGpu(int ordinal) {
  const auto found = std::ranges::find(gpus_, ordinal, &Gpu::ordinal);
  return found == gpus_.end() ? nullptr : &*found;
}

Agent::Gpu* Agent::FindIndex(std::uint32_t index) {
  for (Gpu& gpu : gpus_) {
    if (gpu.admitted && gpu.index == index) return &gpu;
  }
  return nullptr;
}

// ---- memory ----

void Agent::OnFreed(void* argument, int ordinal, Bytes bytes) {
  Agent& agent = *static_cast<Agent*>(argument);
  if (Gpu* gpu = agent.FindGpu(ordinal)) agent.SendAccount(*gpu, bytes);
}

void Agent::WarnOfHostMemory() {
  if (warned_host_memory_) return;
  warned_host_memory_ = true;
  char limit[400];
  client_.arena_.DescribeLimit(limit, sizeof(limit));
  PrintNotice("no host memory to swap GPU memory out to: %s", limit);
}

void Agent::Handle(const wire::Evict& order) {
  swapping_in_ = false;
  if (gate_ == GateState::kOpening) gate_ = GateState::kClosed;
  wire::Evicted evicted{};
  evicted.serial = order.serial;
  evicted.gpu = order.gpu;
  Gpu* gpu = FindIndex(order.gpu);
  if (!client_.swapping_disabled() && MayBeRegisteredForRdma("")) {
    client_.DisableSwapping("GPUDirect RDMA through nvidia-peermem");
  }
  if (gpu != nullptr && gate_ == GateState::kClosed && !client_.swapping_disabled() &&
      !contexts_away_) {
    const std::int64_t began = NowMicroseconds();
    const swap::EvictResult result = client_.mover_.Evict(gpu->ordinal, order.bytes, OnFreed, this);
    evicted.freed = result.freed;
    evicted.copied = result.copied;
    evicted.out_us = static_cast<std::uint32_t>(NowMicroseconds() - began);
    evicted.failure = static_cast<wire::EvictFailure>(result.failure);
    if (result.unchanged > 0) {
      connection_.Send(wire::Unchanged{order.serial, order.gpu, result.unchanged});
    }
    if (result.failure == swap::EvictFailure::kHostMemory) WarnOfHostMemory();
  } else {
    evicted.failure = wire::EvictFailure::kDriver;
  }
  connection_.Send(evicted);
}

void Agent::Handle(const wire::SwapIn& order) {
  if (gate_ == GateState::kOpen) {
    // Everything came in with an earlier order; the daemon waits for an answer to this one too.
    connection_.Send(wire::SwappedIn{order.serial, 0, 0});
    return;
  }
  // A report of memory that was allocated meanwhile may have crossed the order to open: the daemon
  // takes the gate for closed and sends another one.
  gate_ = GateState::kClosed;
  swapping_in_ = true;
  swap_in_serial_ = order.serial;
  swap_in_began_us_ = 0;
  swapped_in_ = 0;
}

void Agent::Handle(const wire::Credit& credit) {
  if (Gpu* gpu = FindIndex(credit.gpu)) client_.ledger_.AddCredit(gpu->ordinal, credit.bytes);
}

void Agent::ContinueSwapIn() {
  if (!swapping_in_ || contexts_away_) return;
  const std::int64_t before = NowMicroseconds();
  const swap::SwapInState state = client_.mover_.SwapInStep();
  const Bytes copied = client_.mover_.TakeCopiedIn();
  if (swap_in_began_us_ == 0 && copied > 0) swap_in_began_us_ = before;
  swapped_in_ += copied;
  retry_soon_ = state == swap::SwapInState::kRetry;
  if (state != swap::SwapInState::kDone) return;
  swapping_in_ = false;
  ReportUsage();
  const std::int64_t took = swap_in_began_us_ == 0 ? 0 : NowMicroseconds() - swap_in_began_us_;
  connection_.Send(wire::SwappedIn{swap_in_serial_, static_cast<std::uint32_t>(took), swapped_in_});
}

void Agent::Handle(const wire::PrepareArena& order) {
  if (contexts_away_) return;
  // Managed memory does not go there.
  Bytes managed = 0;
  for (const Gpu& gpu : gpus_) managed += client_.ledger_.ManagedBytes(gpu.ordinal);
  client_.PrepareArena(order.bytes - std::min<Bytes>(order.bytes, managed));
}

// ---- periodic work ----

void Agent::Periodic() {
  if (!connection_.is_open()) {
    TryReconnect();
    TryResumeStandalone();
    return;
  }
  if (!welcomed_) return;
  if (contexts_away_) return;
  CheckIdle();
  if (client_.pools_.SettleAll(client_.ledger_)) client_.UsageChanged();
  const std::int64_t now = NowMicroseconds();
  if (now < next_usage_us_ || !client_.usage_changed_.load(std::memory_order_acquire)) return;
  ReportUsage();
}

// Returns unused credit, except for what was granted to threads that have not used it yet, and one
// granule for the next small allocations.
void Agent::ReportUsage() {
  client_.usage_changed_.store(false, std::memory_order_release);
  next_usage_us_ = NowMicroseconds() + kUsageIntervalUs;
  for (Gpu& gpu : gpus_) {
    if (!gpu.admitted) continue;
    const bool awaits_credit = swapping_in_ || gate_ == GateState::kOpening;
    Bytes keep = client_.ledger_.Promised(gpu.ordinal);
    // What is on the host takes it in the next round.
    if (gate_ == GateState::kOpen) {
      keep += std::max(gpu.granule, client_.ledger_.GetUsage(gpu.ordinal).on_host);
    }
    SendAccount(gpu, awaits_credit ? 0 : client_.ledger_.TakeSpare(gpu.ordinal, keep));
  }
}

void Agent::SendAccount(Gpu& gpu, Bytes returned) {
  const swap::MemoryUsage usage = client_.ledger_.GetUsage(gpu.ordinal);
  const bool fixed = client_.swapping_disabled();
  ReportOnHost(gpu, usage.on_host);
  connection_.Send(wire::Account{.gpu = gpu.index,
                                 .credit_returned = returned,
                                 .resident = fixed ? 0 : usage.resident,
                                 .swapped = usage.swapped,
                                 .pinned = usage.pinned + (fixed ? usage.resident : 0),
                                 .context = usage.context,
                                 .arena = client_.arena_.pinned()});
}

}  // namespace reveza::interpose
