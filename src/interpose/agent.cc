#include "interpose/agent.h"

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpose/driver_calls.h"
#include "interpose/gate.h"
#include "interpose/gate_wait.h"
#include "interpose/queue_bound.h"
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
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  Real().cuThreadExchangeStreamCaptureMode(&mode);
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

// ---- what the application's threads ask ----

void Agent::ServeRequests() {
  if (!connection_.is_open()) {
    AnswerAllAlone();
    return;
  }
  if (!welcomed_) return;
  SendContexts();
  SendGrowth();
  if (gate_ != GateState::kOpen && !gate_wanted_sent_ &&
      client_.at_gate_.load(std::memory_order_acquire)) {
    gate_wanted_sent_ = connection_.Send(wire::GateWanted{});
  }
}

void Agent::SendContexts() {
  swap::MutexLock lock(client_.requests_mutex_);
  for (ContextRequest* request : client_.contexts_wanted_) {
    if (request->sent) continue;
    Gpu* gpu = FindGpu(request->ordinal);
    if (gpu == nullptr) {
      gpus_.push_back(Gpu{});
      gpu = &gpus_.back();
      gpu->ordinal = request->ordinal;
      gpu->uuid = request->uuid;
      gpu->total = request->total;
    }
    wire::ContextWanted wanted{};
    memcpy(wanted.uuid, request->uuid.bytes, sizeof(wanted.uuid));
    wanted.total = request->total;
    request->sent = connection_.Send(wanted);
  }
  for (const auto& [ordinal, made] : client_.made_) {
    Gpu* gpu = FindGpu(ordinal);
    if (gpu == nullptr || !gpu->admitted) continue;
    wire::ContextMade message{};
    message.gpu = gpu->number;
    message.overhead = made == 0 ? 0 : client_.ledger_.GetBooks(ordinal).context;
    connection_.Send(message);
  }
  client_.made_.clear();
}

void Agent::SendGrowth() {
  swap::MutexLock lock(client_.requests_mutex_);
  std::vector<GrowthRequest*> later;  // a new daemon has not answered Resumed yet
  for (GrowthRequest* request : client_.growth_wanted_) {
    Gpu* gpu = FindGpu(request->ordinal);
    if (gpu != nullptr && !gpu->admitted) {
      later.push_back(request);
      continue;
    }
    if (gpu == nullptr) {
      request->answer = Answer::kRefused;
      request->answered = true;
      client_.answered_.NotifyAll();
      continue;
    }
    wire::GrowthWanted wanted{};
    wanted.request = request->number;
    wanted.gpu = gpu->number;
    wanted.kind = request->kind;
    // A little more than was asked for, so that small allocations do not each ask.
    wanted.bytes = RoundUp(request->bytes, gpu->granule);
    const swap::Books books = client_.ledger_.GetBooks(request->ordinal);
    if (books.Need() + books.spare + wanted.bytes > client_.ledger_.Budget(request->ordinal)) {
      wanted.bytes = request->bytes;
    }
    request->asked = wanted.bytes;
    request->sent = connection_.Send(wanted);
    client_.growth_sent_.push_back(request);
  }
  client_.growth_wanted_ = later;
}

void Agent::OnGrowthAnswer(const wire::GrowthAnswer& answer) {
  if (Gpu* gpu = FindNumber(answer.gpu); gpu != nullptr && answer.credit > 0) {
    client_.ledger_.AddCredit(gpu->ordinal, answer.credit);
  }
  swap::MutexLock lock(client_.requests_mutex_);
  for (std::size_t i = 0; i < client_.growth_sent_.size(); ++i) {
    GrowthRequest* request = client_.growth_sent_[i];
    if (request->number != answer.request) continue;
    request->answer = answer.answer == wire::Growth::kGranted   ? Answer::kGranted
                      : answer.answer == wire::Growth::kRefused ? Answer::kRefused
                                                                : Answer::kLater;
    if (request->answer == Answer::kLater && request->kind == wire::GrowthKind::kSwappable) {
      client_.ledger_.Permit(request->ordinal, request->asked);
    }
    request->answered = true;
    client_.growth_sent_.erase(client_.growth_sent_.begin() + static_cast<std::ptrdiff_t>(i));
    client_.answered_.NotifyAll();
    return;
  }
}

void Agent::OnAdmitted(const wire::ContextAdmitted& admitted) {
  for (Gpu& gpu : gpus_) {
    if (memcmp(gpu.uuid.bytes, admitted.uuid, sizeof(admitted.uuid)) != 0) continue;
    if (gpus_.size() == 1 && client_.ContextOf(gpu.ordinal) == nullptr &&
        gate_ == GateState::kOpen) {
      // From here on the daemon says when; who joins a job that has its turn was told already.
      // Nobody can be inside before the first context.
      if (!told_to_open_) {
        Gate::Close(1'000'000);
        gate_ = GateState::kClosed;
      }
      client_.ledger_.SetResidency(told_to_open_ ? swap::Residency::kIn : swap::Residency::kOut);
    }
    gpu.number = admitted.gpu;
    gpu.granule = admitted.granule < swap::kGranularity
                      ? swap::kGranularity
                      : RoundUp(admitted.granule, swap::kGranularity);
    gpu.admitted = true;
    swap::MutexLock lock(client_.requests_mutex_);
    for (std::size_t i = 0; i < client_.contexts_wanted_.size(); ++i) {
      ContextRequest* request = client_.contexts_wanted_[i];
      if (request->ordinal != gpu.ordinal) continue;
      request->budget = admitted.budget;
      request->credit = admitted.credit;
      request->answered = true;
      client_.contexts_wanted_.erase(client_.contexts_wanted_.begin() +
                                     static_cast<std::ptrdiff_t>(i));
      client_.answered_.NotifyAll();
      return;
    }
    if (admitted.credit > 0) client_.ledger_.SetContextBytes(gpu.ordinal, admitted.credit);
    return;
  }
}

// ---- the gate ----

bool Agent::CaptureInProgress() {
  return client_.captures_.Any() && client_.captures_.InProgress(Real().cuStreamIsCapturing);
}

void Agent::OnCloseGate(const wire::CloseGate& order) {
  const std::int64_t began = swap::NowMicroseconds();
  wire::DrainFailed failed{};
  failed.serial = order.serial;
  std::int64_t inside_us = began;
  bool closed = gate_ != GateState::kOpen;  // nothing was submitted since it was last drained
  if (!closed) {
    if (CaptureInProgress()) {
      failed.reason = wire::DrainFailure::kCapture;
    } else if (!Gate::Close(order.drain_limit_us)) {
      failed.reason = wire::DrainFailure::kInsideCall;
    } else if (CaptureInProgress()) {
      failed.reason = wire::DrainFailure::kCapture;
    } else {
      inside_us = swap::NowMicroseconds();
      closed = Drain(order.drain_limit_us - (inside_us - began));
      failed.reason = wire::DrainFailure::kLimit;
    }
  }
  const std::int64_t now = swap::NowMicroseconds();
  if (!closed) {
    Gate::Open(contention_);
    client_.at_gate_.store(false, std::memory_order_release);
    failed.waited_us = static_cast<std::uint32_t>(now - began);
    connection_.Send(failed);
    return;
  }
  gate_ = GateState::kClosed;
  told_to_open_ = false;
  gate_wanted_sent_ = false;
  client_.ledger_.SetResidency(swap::Residency::kOut);
  ReportBooks();
  wire::GateClosed done{};
  done.serial = order.serial;
  done.gate_us = static_cast<std::uint32_t>(inside_us - began);
  done.drain_us = static_cast<std::uint32_t>(now - inside_us);
  connection_.Send(done);
}

bool Agent::Drain(std::int64_t limit_us) {
  const std::int64_t until = swap::NowMicroseconds() + limit_us;
  for (const CUcontext context : client_.Contexts()) {
    if (!DrainContext(context, until)) return false;
  }
  return true;
}

// An error of the context (the program's kernel failed) counts as drained: nothing runs there.
bool Agent::DrainContext(CUcontext context, std::int64_t until_us) {
  const DriverCalls& real = Real();
  swap::CurrentContext current(client_.swap_driver_, context);
  if (current.result() != CUDA_SUCCESS) return true;
  CUevent done = nullptr;
  if (real.cuCtxRecordEvent == nullptr ||
      real.cuEventCreate(&done, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    real.cuCtxSynchronize();  // drivers before 12.5: without a limit
    return true;
  }
  CUresult result = real.cuCtxRecordEvent(context, done);
  if (result == CUDA_SUCCESS) {
    useconds_t pause = 10;
    while ((result = real.cuEventQuery(done)) == CUDA_ERROR_NOT_READY &&
           swap::NowMicroseconds() < until_us) {
      usleep(pause);
      if (pause < 200) pause += pause / 2;
    }
  } else if (result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) {
    result = CUDA_ERROR_NOT_READY;  // a capture that began behind our back
  } else {
    real.cuCtxSynchronize();
  }
  real.cuEventDestroy_v2(done);
  return result != CUDA_ERROR_NOT_READY;
}

// What was allocated since the daemon last heard of our books is not in physical memory yet: the
// books say so, and the daemon orders a swap-in, and then the gate open again.
void Agent::OnOpenGate() {
  told_to_open_ = true;
  if (gate_ == GateState::kOpen) return;
  swapping_in_ = false;
  for (const Gpu& gpu : gpus_) {
    if (client_.ledger_.GetBooks(gpu.ordinal).swapped == 0) continue;
    gate_wanted_sent_ = false;  // what was said before the order no longer counts
    return ReportBooks();
  }
  gate_ = GateState::kOpening;
}

// There is credit for everything; what has no physical memory yet gets it.
void Agent::ContinueOpening() {
  if (gate_ != GateState::kOpening) return;
  const swap::SwapInState state = mover_.SwapInStep();
  swapped_in_ += mover_.TakeCopiedIn();
  retry_soon_ = state == swap::SwapInState::kRetry;
  if (state == swap::SwapInState::kNeedCredit) {
    gate_ = GateState::kClosed;
    gate_wanted_sent_ = false;
    ReportBooks();
  }
  if (state == swap::SwapInState::kDone) OpenNow();
}

void Agent::OpenNow() {
  gate_ = GateState::kOpen;
  retry_soon_ = false;
  client_.at_gate_.store(false, std::memory_order_release);
  gate_wanted_sent_ = false;
  idle_reported_ = false;
  last_submission_us_ = swap::NowMicroseconds();
  client_.ledger_.SetResidency(connection_.is_open() ? swap::Residency::kIn
                                                     : swap::Residency::kUnmanaged);
  {
    swap::MutexLock lock(client_.why_mutex_);
    client_.why_[0] = '\0';
  }
  Gate::Open(contention_);
  ReportBooks();
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

// Somebody waits: if nothing was submitted for as long as a handover costs, and the GPU has
// nothing left to do for us, say so. The gate is closed for the moment of the question, because
// asking would disturb a capture that begins meanwhile.
void Agent::CheckIdle() {
  if (!contention_ || gate_ != GateState::kOpen) return;
  const std::int64_t now = swap::NowMicroseconds();
  const std::uint64_t submissions = Gate::Submissions();
  if (submissions != last_submissions_) {
    last_submissions_ = submissions;
    last_submission_us_ = now;
    idle_reported_ = false;
    return;
  }
  if (idle_reported_ || now - last_submission_us_ < idle_after_us_ || CaptureInProgress()) return;
  const bool idle = Gate::Close(1000) && !CaptureInProgress() && Drain(1000);
  Gate::Open(contention_);
  if (idle && Gate::Submissions() == submissions) {
    idle_reported_ = connection_.Send(wire::Idle{});
  } else {
    last_submission_us_ = now;  // busy: ask again only after another such while
  }
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
