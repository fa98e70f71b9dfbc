#include "interpose/agent.h"

#include <poll.h>
#include <unistd.h>

#include <cstring>

#include "interpose/driver_calls.h"
#include "interpose/gate.h"
#include "interpose/gate_wait.h"
#include "swap/sync.h"

namespace reveza::interpose {
namespace {

constexpr std::int64_t kBooksIntervalUs = 50'000;  // how stale the daemon's books may be
constexpr int kIdleTimeoutMs = 1000;               // nothing to do
constexpr int kContentionTimeoutMs = 5;            // idleness is looked for this often
constexpr int kRetryTimeoutMs = 2;                 // memory that is released late

}  // namespace

Agent::Agent(Client& client) : client_(client), mover_(client.mover_) {}

void Agent::Run() {
  const RelaxedCapture relaxed;
  Connect();
  for (;;) {
    {
      swap::MutexLock moving(client_.moving_mutex_);
      Receive();
      ServeRequests();
      ContinueSwapIn();
      ContinueOpening();
      Periodic();
    }
    Wait();
  }
}

int Agent::Timeout() const {
  if (retry_soon_) return kRetryTimeoutMs;
  if (swapping_in_ || gate_ == GateState::kOpening) return 20;
  if (contention_ && gate_ == GateState::kOpen) return kContentionTimeoutMs;
  if (!connection_.is_open()) {
    return gate_ == GateState::kClosed || MayReturnSoon() ? 100 : kIdleTimeoutMs;
  }
  return client_.books_changed_.load(std::memory_order_relaxed) ? int(kBooksIntervalUs / 1000)
                                                                : kIdleTimeoutMs;
}

void Agent::Wait() {
  pollfd fds[2] = {{client_.wake_fd_, POLLIN, 0}, {connection_.fd(), POLLIN, 0}};
  poll(fds, connection_.is_open() ? 2 : 1, Timeout());
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(client_.wake_fd_, &count, sizeof(count));
}

void Agent::Receive() {
  wire::Type type{};
  while (connection_.is_open()) {
    const auto received = connection_.Receive(&type);
    if (received == Connection::Received::kNothing) return;
    if (received == Connection::Received::kClosed) return LoseDaemon();
    Handle(type);
    if (!connection_.is_open()) return LoseDaemon();
  }
  if (welcomed_) LoseDaemon();
}

void Agent::Handle(wire::Type type) {
  switch (type) {
    case wire::Type::kWelcome:
      return OnWelcome(connection_.Body<wire::Welcome>());
    case wire::Type::kRefused: {
      refused_ = true;
      Say("the daemon refused this program: %s", connection_.Body<wire::Refused>().text);
      return connection_.Close();
    }
    case wire::Type::kContextAdmitted:
      return OnAdmitted(connection_.Body<wire::ContextAdmitted>());
    case wire::Type::kGrowthAnswer:
      return OnGrowthAnswer(connection_.Body<wire::GrowthAnswer>());
    case wire::Type::kOpenGate:
      return OnOpenGate();
    case wire::Type::kCloseGate:
      return OnCloseGate(connection_.Body<wire::CloseGate>());
    case wire::Type::kEvict:
      return OnEvict(connection_.Body<wire::Evict>());
    case wire::Type::kSwapIn:
      return OnSwapIn(connection_.Body<wire::SwapIn>());
    case wire::Type::kCredit:
      return OnCredit(connection_.Body<wire::Credit>());
    case wire::Type::kContention:
      return OnContention(connection_.Body<wire::Contention>());
    case wire::Type::kPrepareArena:
      return OnPrepareArena(connection_.Body<wire::PrepareArena>());
    case wire::Type::kWhy: {
      swap::MutexLock lock(client_.why_mutex_);
      memcpy(client_.why_, connection_.Body<wire::Why>().text, sizeof(client_.why_));
      return;
    }
    default:  // a client's or the command line's message: this is no daemon of ours
      return connection_.Close();
  }
}

Agent::Gpu* Agent::FindGpu(int ordinal) {
  for (Gpu& gpu : gpus_) {
    if (gpu.ordinal == ordinal) return &gpu;
  }
  return nullptr;
}

Agent::Gpu* Agent::FindNumber(std::uint32_t number) {
  for (Gpu& gpu : gpus_) {
    if (gpu.admitted && gpu.number == number) return &gpu;
  }
  return nullptr;
}

// ---- memory ----

void Agent::OnFreed(void* argument, int ordinal, Bytes bytes) {
  Agent& agent = *static_cast<Agent*>(argument);
  if (Gpu* gpu = agent.FindGpu(ordinal)) agent.SendAccount(*gpu, bytes);
}

void Agent::OnEvict(const wire::Evict& order) {
  swapping_in_ = false;
  if (gate_ == GateState::kOpening) gate_ = GateState::kClosed;
  wire::Evicted evicted{};
  evicted.serial = order.serial;
  evicted.gpu = order.gpu;
  Gpu* gpu = FindNumber(order.gpu);
  if (gpu != nullptr && gate_ == GateState::kClosed && !client_.stays_resident()) {
    const std::int64_t began = swap::NowMicroseconds();
    const swap::EvictResult result = mover_.Evict(gpu->ordinal, order.bytes, OnFreed, this);
    evicted.freed = result.freed;
    evicted.copied = result.copied;
    evicted.out_us = static_cast<std::uint32_t>(swap::NowMicroseconds() - began);
    evicted.failure = static_cast<wire::EvictFailure>(result.failure);
  } else {
    evicted.failure = wire::EvictFailure::kDriver;
  }
  connection_.Send(evicted);
}

void Agent::OnSwapIn(const wire::SwapIn& order) {
  if (gate_ != GateState::kClosed) return;
  swapping_in_ = true;
  swap_in_serial_ = order.serial;
  swap_in_began_us_ = 0;
  swapped_in_ = 0;
}

void Agent::OnCredit(const wire::Credit& credit) {
  if (Gpu* gpu = FindNumber(credit.gpu)) client_.ledger_.AddCredit(gpu->ordinal, credit.bytes);
}

void Agent::ContinueSwapIn() {
  if (!swapping_in_) return;
  const std::int64_t before = swap::NowMicroseconds();
  const swap::SwapInState state = mover_.SwapInStep();
  const Bytes copied = mover_.TakeCopiedIn();
  if (swap_in_began_us_ == 0 && copied > 0) swap_in_began_us_ = before;
  swapped_in_ += copied;
  retry_soon_ = state == swap::SwapInState::kRetry;
  if (state != swap::SwapInState::kDone) return;
  swapping_in_ = false;
  ReportBooks();
  wire::SwappedIn done{};
  done.serial = swap_in_serial_;
  done.copied = swapped_in_;
  if (swap_in_began_us_ != 0) {
    done.in_us = static_cast<std::uint32_t>(swap::NowMicroseconds() - swap_in_began_us_);
  }
  connection_.Send(done);
}

void Agent::OnPrepareArena(const wire::PrepareArena& order) { client_.PrepareArena(order.bytes); }

// ---- from time to time ----

void Agent::OnContention(const wire::Contention& contention) {
  contention_ = contention.waiting != 0;
  idle_after_us_ = contention.idle_after_us;
  idle_reported_ = false;
  last_submissions_ = Gate::Submissions();
  last_submission_us_ = swap::NowMicroseconds();
  if (gate_ == GateState::kOpen) Gate::SetBounded(contention_);
}

void Agent::Periodic() {
  if (!connection_.is_open()) {
    TryReconnect();
    TryComeBack();
    return;
  }
  if (!welcomed_) return;
  CheckIdle();
  const std::int64_t now = swap::NowMicroseconds();
  if (now < next_books_us_ || !client_.books_changed_.load(std::memory_order_acquire)) return;
  ReportBooks();
}

// Credit that was freed goes back, but for what the next small allocations will want.
void Agent::ReportBooks() {
  client_.books_changed_.store(false, std::memory_order_release);
  next_books_us_ = swap::NowMicroseconds() + kBooksIntervalUs;
  for (Gpu& gpu : gpus_) {
    if (!gpu.admitted) continue;
    const bool waits_for_credit = swapping_in_ || gate_ == GateState::kOpening;
    const Bytes keep = gate_ == GateState::kOpen ? gpu.granule : 0;
    SendAccount(gpu, waits_for_credit ? 0 : client_.ledger_.TakeSpare(gpu.ordinal, keep));
  }
}

void Agent::SendAccount(Gpu& gpu, Bytes returned) {
  const swap::Books books = client_.ledger_.GetBooks(gpu.ordinal);
  wire::Account account{};
  account.gpu = gpu.number;
  account.credit_returned = returned;
  const bool fixed = client_.stays_resident();
  account.resident = fixed ? 0 : books.resident;
  account.swapped = books.swapped;
  account.pinned = books.pinned + (fixed ? books.resident : 0);
  account.context = books.context;
  account.arena = client_.arena_.pinned();
  connection_.Send(account);
}

}  // namespace reveza::interpose
