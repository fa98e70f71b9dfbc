#include "interpose/client.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "interpose/agent.h"
#include "interpose/driver_calls.h"
#include "interpose/gate.h"
#include "interpose/gate_wait.h"
#include "interpose/real_driver.h"
#include "wire/codec.h"

namespace reveza::interpose {
namespace {

constexpr std::int64_t kFirstLineUs = 5'000'000;
constexpr std::int64_t kNextLinesUs = 60'000'000;

pthread_once_t start_once = PTHREAD_ONCE_INIT;
constinit std::atomic<bool> forked_child{false};

swap::Driver MakeSwapDriver() {
  const DriverCalls& real = Real();
  swap::Driver driver{};
  driver.AddressReserve = real.cuMemAddressReserve;
  driver.AddressFree = real.cuMemAddressFree;
  driver.Create = real.cuMemCreate;
  driver.Release = real.cuMemRelease;
  driver.Map = real.cuMemMap;
  driver.Unmap = real.cuMemUnmap;
  driver.SetAccess = real.cuMemSetAccess;
  driver.CopyToHost = real.cuMemcpyDtoHAsync_v2;
  driver.CopyToDevice = real.cuMemcpyHtoDAsync_v2;
  driver.CopyOnDevice = real.cuMemcpyDtoDAsync_v2;
  driver.StreamCreate = real.cuStreamCreate;
  driver.StreamDestroy = real.cuStreamDestroy_v2;
  driver.StreamSynchronize = real.cuStreamSynchronize;
  driver.EventCreate = real.cuEventCreate;
  driver.EventDestroy = real.cuEventDestroy_v2;
  driver.EventRecord = real.cuEventRecord;
  driver.EventSynchronize = real.cuEventSynchronize;
  driver.HostRegister = real.cuMemHostRegister_v2;
  driver.HostUnregister = real.cuMemHostUnregister;
  driver.ContextGetCurrent = real.cuCtxGetCurrent;
  driver.ContextSetCurrent = real.cuCtxSetCurrent;
  return driver;
}

// The same for all processes of one `reveza run`; without one, this process is its own job.
std::uint64_t JobFromEnvironment() {
  const char* text = getenv("REVEZA_JOB");
  const std::uint64_t job = text == nullptr ? 0 : strtoull(text, nullptr, 16);
  if (job != 0) return job;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return (static_cast<std::uint64_t>(now.tv_sec) << 32) ^
         (static_cast<std::uint64_t>(now.tv_nsec) << 16) ^ static_cast<std::uint64_t>(getpid());
}

}  // namespace

constinit std::atomic<Client*> Client::instance_{nullptr};

void OnUnknownCall(const char* name) {
  Client* client = Client::Get();
  if (client != nullptr) client->StayResident(name);
}

Client::Client()
    : swap_driver_(MakeSwapDriver()),
      arena_(swap_driver_, ~Bytes{0}),
      ledger_(swap_driver_, arena_),
      job_(JobFromEnvironment()),
      mover_(swap_driver_, ledger_) {
  const char* resident = getenv("REVEZA_RESIDENT");
  resident_ = resident != nullptr && strcmp(resident, "1") == 0;
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void Client::MakeInstance() {
  auto* client = new Client;
  Gate::Prepare();
  pthread_atfork(nullptr, nullptr, InChild);
  instance_.store(client, std::memory_order_release);
  // The agent gets no signals: they belong to the program.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, AgentMain, client) == 0) {
    pthread_detach(thread);
  } else {
    instance_.store(nullptr, std::memory_order_release);
    Say("cannot start a thread; this program runs without sharing the GPU");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Client* Client::Start() {
  if (IsDisabled() || forked_child.load(std::memory_order_relaxed)) return nullptr;
  pthread_once(&start_once, MakeInstance);
  return Get();
}

// The child has no agent and no context. It passes everything on to the driver, which refuses it
// by itself if the parent had used the GPU.
void Client::InChild() {
  if (Get() == nullptr) return;
  forked_child.store(true, std::memory_order_relaxed);
  instance_.store(nullptr, std::memory_order_relaxed);
  Gate::ResetAfterFork();
}

void* Client::AgentMain(void* argument) {
  Agent agent(*static_cast<Client*>(argument));
  agent.Run();
  return nullptr;
}

Bytes Client::EmulatedTotal(Bytes total) {
  const char* text = getenv("REVEZA_GPU_BUDGET");
  const Bytes budget = text == nullptr ? 0 : strtoull(text, nullptr, 10);
  return budget != 0 && budget < total ? budget : total;
}

void Client::Wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_fd_, &one, sizeof(one));
}

// Waits for the agent's answer (requests_mutex_ is held) and says why it takes long.
bool Client::WaitFor(const bool& answered, const char* what) {
  const std::int64_t began = swap::NowMicroseconds();
  std::int64_t next_line = began + kFirstLineUs;
  while (!answered) {
    answered_.WaitFor(requests_mutex_, 1'000'000);
    const std::int64_t now = swap::NowMicroseconds();
    if (answered || now < next_line) continue;
    next_line = now + kNextLinesUs;
    char why[200];
    CopyWhy(why, sizeof(why));
    Say("waiting for %s for %lld s: %s", what, static_cast<long long>((now - began) / 1'000'000),
        why[0] != '\0' ? why : "no room yet");
  }
  return answered;
}

void Client::BeforeContext(int ordinal) {
  ContextRequest request;
  request.ordinal = ordinal;
  const DriverCalls& real = Real();
  std::size_t total = 0;
  if (real.cuDeviceTotalMem_v2(&total, ordinal) != CUDA_SUCCESS) return;
  request.total = total;
  real.cuDeviceGetUuid(&request.uuid, ordinal);
  GatePause pause;
  swap::MutexLock lock(requests_mutex_);
  for (const Admitted& one : admitted_) {
    if (one.ordinal == ordinal) return;
  }
  contexts_wanted_.push_back(&request);
  Wake();
  WaitFor(request.answered, "room for a context");
  admitted_.push_back({ordinal, false});
  ledger_.AddDevice(ordinal, nullptr, request.budget, request.credit);
}

void Client::AfterContext(int ordinal, CUcontext context) {
  if (context != nullptr) {
    swap::MutexLock lock(contexts_mutex_);
    const bool known = std::ranges::any_of(
        live_contexts_, [&](const LiveContext& live) { return live.context == context; });
    if (!known) live_contexts_.push_back({ordinal, context});
  }
  if (context != nullptr) ledger_.SetContext(ordinal, ContextOf(ordinal));
  swap::MutexLock lock(requests_mutex_);
  for (std::size_t i = 0; i < admitted_.size(); ++i) {
    Admitted& one = admitted_[i];
    if (one.ordinal != ordinal) continue;
    if (one.made) return;
    one.made = context != nullptr;
    made_.emplace_back(ordinal, context == nullptr ? 0 : 1);
    if (context == nullptr) admitted_.erase(admitted_.begin() + static_cast<std::ptrdiff_t>(i));
    Wake();
    return;
  }
}

bool Client::ForgetContext(CUcontext context, int* ordinal) {
  swap::MutexLock lock(contexts_mutex_);
  return std::erase_if(live_contexts_, [&](const LiveContext& live) {
           if (live.context == context) *ordinal = live.ordinal;
           return live.context == context;
         }) > 0;
}

void Client::ContextEnds(CUcontext context) {
  int ordinal = 0;
  swap::MutexLock moving(moving_mutex_);
  if (!ForgetContext(context, &ordinal)) return;
  mover_.EndSwapIn();
  ledger_.FreeOwned(context);
  ledger_.ContextEnds(ordinal, context, ContextOf(ordinal));
  BooksChanged();
}

// Only the driver counts the references: whether it was the last one shows afterwards.
CUresult Client::ReleasePrimary(CUdevice device, CUcontext context, CUresult (*release)(CUdevice)) {
  swap::MutexLock moving(moving_mutex_);
  mover_.EndSwapIn();
  const CUresult result = release(device);
  unsigned int flags = 0;
  int active = 0;
  int ordinal = 0;
  const bool ended =
      Real().cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active == 0;
  if (ended && ForgetContext(context, &ordinal)) {
    ledger_.ContextEnds(ordinal, context, ContextOf(ordinal));
    ledger_.FreeOwned(context);
    BooksChanged();
  }
  return result;
}

std::vector<CUcontext> Client::Contexts() const {
  swap::MutexLock lock(contexts_mutex_);
  std::vector<CUcontext> contexts;
  for (const LiveContext& live : live_contexts_) contexts.push_back(live.context);
  return contexts;
}

CUcontext Client::ContextOf(int ordinal) const {
  swap::MutexLock lock(contexts_mutex_);
  for (const LiveContext& live : live_contexts_) {
    if (live.ordinal == ordinal) return live.context;
  }
  return nullptr;
}

void Client::PrepareArena(Bytes bytes) {
  arena_wanted_.store(bytes, std::memory_order_release);
  if (arena_in_preparation_.exchange(true, std::memory_order_acq_rel)) return;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, PrepareMain, this) == 0) {
    pthread_detach(thread);
  } else {
    arena_in_preparation_.store(false, std::memory_order_release);
  }
}

void* Client::PrepareMain(void* argument) {
  Client& client = *static_cast<Client*>(argument);
  const RelaxedCapture relaxed;
  Bytes done = 0;
  Bytes wanted = 0;
  while ((wanted = client.arena_wanted_.load(std::memory_order_acquire)) > done) {
    const std::vector<CUcontext> contexts = client.Contexts();
    if (contexts.empty()) break;
    swap::CurrentContext current(client.swap_driver_, contexts[0]);
    if (!client.arena_.Prepare(wanted)) break;
    done = wanted;
  }
  client.arena_in_preparation_.store(false, std::memory_order_release);
  client.BooksChanged();
  return nullptr;
}

Answer Client::AskGrowth(int ordinal, wire::GrowthKind kind, Bytes bytes) {
  GrowthRequest request;
  request.ordinal = ordinal;
  request.kind = kind;
  request.bytes = bytes;
  GatePause pause;
  swap::MutexLock lock(requests_mutex_);
  request.number = next_request_++;
  growth_wanted_.push_back(&request);
  Wake();
  WaitFor(request.answered, "GPU memory");
  return request.answer;
}

Answer Client::ReservePinned(int ordinal, Bytes bytes) {
  if (bytes > ledger_.Budget(ordinal)) return Answer::kRefused;  // nobody could give it
  for (;;) {
    if (ledger_.SpendOnCounted(ordinal, bytes)) {
      BooksChanged();
      return Answer::kGranted;
    }
    const Answer answer = AskGrowth(ordinal, wire::GrowthKind::kPinned, bytes);
    if (answer == Answer::kRefused) return answer;
    if (answer == Answer::kLater) GateScope wait_for_the_gate;
  }
}

void Client::ReleasePinned(int ordinal, Bytes bytes) {
  ledger_.AddCounted(ordinal, -static_cast<std::int64_t>(bytes));
  BooksChanged();
}

void Client::SetPeerAccess(CUcontext peer_context, bool enabled) {
  CUdevice accessor = 0;
  CUdevice owner = 0;
  if (Real().cuCtxGetDevice(&accessor) != CUDA_SUCCESS) return;
  {
    swap::CurrentContext current(swap_driver_, peer_context);
    if (Real().cuCtxGetDevice(&owner) != CUDA_SUCCESS) return;
  }
  ledger_.SetPeer(owner, accessor, enabled);
}

void Client::BooksChanged() {
  if (!books_changed_.exchange(true, std::memory_order_acq_rel)) Wake();
}

void Client::StayResident(const char* why) {
  if (!stays_resident_.exchange(true, std::memory_order_acq_rel)) {
    Say("%s is not known to this version: this program keeps its GPU memory from now on", why);
    BooksChanged();  // what could move is pinned now
  }
}

void Client::AtClosedGate() {
  if (!at_gate_.exchange(true, std::memory_order_acq_rel)) Wake();
}

void Client::CopyWhy(char* out, std::size_t capacity) const {
  swap::MutexLock lock(why_mutex_);
  wire::CopyText(out, capacity, why_);
}

}  // namespace reveza::interpose
