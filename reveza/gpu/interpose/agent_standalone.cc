// The agent: connecting to the daemon, and operation without one (none running, lost, or of another
// version). The program keeps running. Swapped-out memory is swapped in completely or not at all,
// one process per GPU at a time, and only if enough GPU memory is actually free.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/agent.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/gate_wait.h"
#include "reveza/gpu/interpose/queue_bound.h"
#include "reveza/gpu/swap/client_lock.h"

namespace reveza::interpose {
namespace {

constexpr std::int64_t kReconnectUs = 1'000'000;
// A lost daemon may be restarting: for this long the agent waits before acting on its own.
constexpr std::int64_t kGraceUs = 3'000'000;
constexpr std::int64_t kReconnectInGraceUs = 100'000;
// Left free by a standalone swap-in, for modules and local memory of running programs.
constexpr Bytes kStandaloneReserve = 64 * kMiB;

}  // namespace

Agent::GpuLockName::GpuLockName(const CUuuid& uuid) {
  int length = snprintf(text, sizeof(text), "gpu-");
  for (const char byte : uuid.bytes) {
    length += snprintf(text + length, sizeof(text) - static_cast<std::size_t>(length), "%02x",
                       static_cast<unsigned char>(byte));
  }
}

void Agent::Connect() {
  next_attempt_us_ = NowMicroseconds() + (InGracePeriod() ? kReconnectInGraceUs : kReconnectUs);
  welcomed_ = false;
  if (refused_) return;
  if (!connection_.Open()) {
    connect_error_ = errno;
    return;
  }
  const bool resuming = !gpus_.empty();
  wire::Hello hello{};
  hello.job = client_.job_;
  hello.flags =
      (client_.resident_ ? wire::kHelloResident : 0u) | (resuming ? wire::kHelloResuming : 0u);
  hello.gate_open = gate_ == GateState::kOpen ? 1 : 0;
  if (connection_.version() >= 3 && (contexts_away_ || ContextsCanMove())) {
    hello.flags |= wire::kHelloMovableContexts;
  }
  if (connection_.version() >= wire::HostBacked::kSince && client_.larger_than_card_) {
    hello.flags |= wire::kHelloHostBacked;
  }
  const char* name = getenv("REVEZA_NAME");
  wire::CopyText(hello.name, sizeof(hello.name), name == nullptr ? "" : name);
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const ssize_t got = read(fd, hello.command, sizeof(hello.command) - 1);
    for (ssize_t i = 0; i + 1 < got; ++i) {
      if (hello.command[i] == '\0') hello.command[i] = ' ';
    }
    close(fd);
  }
  connection_.Send(hello);
  if (policy_.fields != 0) connection_.Send(policy_);
}

void Agent::Handle(const wire::Refused& refused) {
  const bool older = refused.reason == wire::RefusedReason::kWrongVersion &&
                     refused.version >= wire::kMinVersion &&
                     refused.version < connection_.version();
  connection_.Close();
  if (older) {
    connection_.set_version(static_cast<std::uint16_t>(refused.version));
    return Connect();
  }
  refused_ = true;
  PrintNotice("the daemon refused this program: %s", refused.text);
}

void Agent::Handle(const wire::Welcome& welcome) {
  welcomed_ = true;
  QueueBound::SetBound(welcome.queue_bound_us);
  if (warned_standalone_) PrintNotice("reconnected to a daemon: the GPU is shared again");
  warned_standalone_ = false;
  if (gpus_.empty()) return;
  // The daemon was restarted and takes this client over in its current state.
  open_ordered_ = gate_ == GateState::kOpen;
  client_.ledger_.SetResidency(gate_ == GateState::kOpen ? swap::Residency::kIn
                                                         : swap::Residency::kOut);
  gate_request_sent_ = false;
  if (contexts_away_) {
    connection_.Send(wire::ContextsReleased{0, wire::ContextRelease::kReleased});
  }
  for (Gpu& gpu : gpus_) {
    client_.ledger_.TakeSpare(gpu.ordinal, 0);
    const swap::MemoryUsage usage = client_.ledger_.GetUsage(gpu.ordinal);
    wire::Resumed resumed{};
    memcpy(resumed.uuid, gpu.uuid.bytes, sizeof(resumed.uuid));
    resumed.total = gpu.total;
    resumed.resident = usage.resident;
    resumed.swapped = usage.swapped;
    resumed.pinned = usage.pinned;
    resumed.context = usage.context;
    resumed.credit = contexts_away_ ? 0 : usage.resident + usage.pinned + usage.context;
    connection_.Send(resumed);
    gpu.on_host = {};
  }
  client_.UsageChanged();  // Resumed does not carry the arena size
}

bool Agent::InGracePeriod() const { return NowMicroseconds() < grace_until_us_; }

void Agent::OnConnectionLost() {
  connection_.Close();
  always_bounded_ = false;
  const bool was_connected = welcomed_;
  if (was_connected) {
    grace_until_us_ = NowMicroseconds() + kGraceUs;
    next_attempt_us_ = 0;
  }
  welcomed_ = false;
  swapping_in_ = false;
  retry_soon_ = false;
  open_ordered_ = false;
  contention_ = false;
  holds_sent_ = false;
  // The next daemon may be newer.
  connection_.set_version(wire::kVersion);
  if (gate_ == GateState::kAdmitting) {
    client_.ledger_.SetResidency(swap::Residency::kIn);
    gate_ = GateState::kOpen;
    Gate::Open(false);
  }
  // Hello tells the next daemon the state of the gate, which must not change afterwards.
  if (gate_ == GateState::kOpening) gate_ = GateState::kClosed;
  failed_close_serial_ = 0;  // the next daemon numbers its orders anew
  const bool runs_on = !gpus_.empty() || !requires_daemon_;
  if (!warned_standalone_ && !refused_ && runs_on) {
    PrintNotice("%s; this program continues without sharing the GPU",
                was_connected ? "lost the connection to the daemon" : "cannot reach the daemon");
    warned_standalone_ = true;
  }
  for (Gpu& gpu : gpus_) gpu.admitted = false;
  // Contexts that were not admitted yet cannot be resumed; they are requested again.
  std::erase_if(gpus_, [](const Gpu& gpu) { return !gpu.granted; });
  MutexLock lock(client_.requests_mutex_);
  for (GrowthRequest* request : client_.growth_sent_) client_.growth_requests_.push_back(request);
  client_.growth_sent_.clear();
  for (ContextRequest* request : client_.context_requests_) request->sent = false;
}

void Agent::TryReconnect() {
  if (refused_ || NowMicroseconds() < next_attempt_us_) return;
  if (getenv("REVEZA_SOCKET") == nullptr) {
    refused_ = true;
    return;
  }
  Connect();
}

// Without a daemon an open gate stays open, unbounded; a closed one opens once all memory is
// resident.
void Agent::TryResumeStandalone() {
  if (connection_.is_open() || InGracePeriod()) return;
  if (gate_ == GateState::kOpen) {
    if (client_.ledger_.residency() != swap::Residency::kUnmanaged) {
      client_.ledger_.SetResidency(swap::Residency::kUnmanaged);
      Gate::SetBounded(Bounded());
    }
    return;
  }
  if (contexts_away_ && !BringContextsBackStandalone()) return;
  for (const Gpu& gpu : gpus_) {
    const Bytes missing = client_.mover_.MissingCredit(gpu.ordinal);
    if (missing == 0) continue;
    const CUcontext context = client_.contexts_.Of(gpu.ordinal);
    if (context == nullptr) {
      // Without contents, and made when the driver has room.
      client_.ledger_.AddCredit(gpu.ordinal, missing);
      continue;
    }
    swap::ClientLock gpu_lock(GpuLockName(gpu.uuid).text);
    if (!gpu_lock.TryAcquire()) return;
    swap::CurrentContext current(client_.swap_driver_, context);
    std::size_t free = 0;
    std::size_t total = 0;
    if (Real().cuMemGetInfo_v2(&free, &total) != CUDA_SUCCESS) return;
    const bool tight = free < missing + kStandaloneReserve && free < total / 4 * 3;
    if (tight || free < missing) {
      // All or nothing: two processes that each hold a part of the memory would deadlock.
      const Bytes held = client_.ledger_.GetUsage(gpu.ordinal).resident;
      if (held > 0) client_.mover_.Evict(gpu.ordinal, held, [](void*, int, Bytes) {}, nullptr);
      return;
    }
    client_.ledger_.AddCredit(gpu.ordinal, missing);
    // If another process took the free memory meanwhile, evict again and retry later.
    if (!SwapInStandalone()) {
      client_.mover_.Evict(gpu.ordinal, missing, [](void*, int, Bytes) {}, nullptr);
      return;
    }
  }
  if (SwapInStandalone()) FinishOpening();
}

bool Agent::SwapInStandalone() {
  for (int attempt = 0; attempt < 500; ++attempt) {
    const swap::SwapInState state = client_.mover_.SwapInStep();
    client_.mover_.TakeCopiedIn();
    if (state == swap::SwapInState::kDone) return true;
    if (state == swap::SwapInState::kNeedCredit) return false;
    usleep(2000);
  }
  return false;
}

// Grants all pending requests; the memory of the GPU is the only limit.
void Agent::GrantAllStandalone() {
  if (InGracePeriod()) return;
  MutexLock lock(client_.requests_mutex_);
  if (requires_daemon_) {
    HoldContexts();
  } else {
    GrantContextsStandalone();
  }
  for (GrowthRequest* request : client_.growth_requests_) {
    request->answer = gate_ == GateState::kOpen ? wire::Growth::kGranted : wire::Growth::kLater;
    client_.ledger_.Permit(request->ordinal, request->bytes);
    request->answered = true;
  }
  client_.growth_requests_.clear();
  client_.created_.clear();
  client_.answered_.NotifyAll();
}

void Agent::GrantContextsStandalone() {
  for (ContextRequest* request : client_.context_requests_) {
    if (FindGpu(request->ordinal) == nullptr) AddGpu(*request).granted = true;
    request->budget = Client::EmulatedTotal(request->total);
    request->answered = true;
  }
  if (!client_.context_requests_.empty() && !warned_standalone_ && !refused_) {
    PrintNotice("cannot reach the daemon; this program runs without sharing the GPU");
    warned_standalone_ = true;
  }
  client_.context_requests_.clear();
}

void Agent::HoldContexts() {
  if (client_.context_requests_.empty()) return;
  if (!refused_) {
    if (warned_standalone_) return;
    warned_standalone_ = true;
    char text[80];
    PrintNotice(
        "cannot reach the daemon at %s (%s): this program waits for it, since it may not "
        "use the GPU without (REVEZA_REQUIRE_DAEMON=1)",
        getenv("REVEZA_SOCKET"), strerror_r(connect_error_, text, sizeof(text)));
    MutexLock reason(client_.wait_reason_mutex_);
    strcpy(client_.wait_reason_, "the daemon cannot be reached");
    return;
  }
  PrintNotice(
      "no GPU context: this program may not use the GPU without a daemon "
      "(REVEZA_REQUIRE_DAEMON=1)%s",
      getenv("REVEZA_SOCKET") == nullptr ? ", and REVEZA_SOCKET is not set" : "");
  for (ContextRequest* request : client_.context_requests_) {
    std::erase_if(gpus_,
                  [&](const Gpu& gpu) { return gpu.ordinal == request->ordinal && !gpu.granted; });
    request->refused = request->answered = true;
  }
  client_.context_requests_.clear();
}

}  // namespace reveza::interpose
