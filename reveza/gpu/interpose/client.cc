#include "reveza/gpu/interpose/client.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/agent.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/gate_wait.h"
#include "reveza/gpu/interpose/interrupts.h"
#include "reveza/gpu/interpose/job_id.h"
#include "reveza/gpu/interpose/real_driver.h"
#include "reveza/gpu/interpose/resolver.h"
#include "reveza/gpu/wire/codec.h"

namespace reveza::interpose {
namespace {

pthread_once_t start_once = PTHREAD_ONCE_INIT;
constinit std::atomic<bool> forked_child{false};

constexpr std::chrono::seconds kNoticeInterval(1);
constexpr const char* kRoomForContext = "room for a context";
constexpr const char* kNoRoom = "no room yet";

swap::Driver MakeSwapDriver() {
  const DriverCalls& real = Real();
  return {
      .AddressReserve = real.cuMemAddressReserve,
      .AddressFree = real.cuMemAddressFree,
      .Create = real.cuMemCreate,
      .Release = real.cuMemRelease,
      .Map = real.cuMemMap,
      .Unmap = real.cuMemUnmap,
      .SetAccess = real.cuMemSetAccess,
      .CopyToHost = real.cuMemcpyDtoHAsync_v2,
      .CopyToDevice = real.cuMemcpyHtoDAsync_v2,
      .CopyOnDevice = real.cuMemcpyDtoDAsync_v2,
      .StreamCreate = real.cuStreamCreate,
      .StreamDestroy = real.cuStreamDestroy_v2,
      .StreamSynchronize = real.cuStreamSynchronize,
      .EventCreate = real.cuEventCreate,
      .EventDestroy = real.cuEventDestroy_v2,
      .EventRecord = real.cuEventRecord,
      .EventSynchronize = real.cuEventSynchronize,
      .HostRegister = real.cuMemHostRegister_v2,
      .HostUnregister = real.cuMemHostUnregister,
      .ContextGetCurrent = real.cuCtxGetCurrent,
      .ContextSetCurrent = real.cuCtxSetCurrent,
  };
}

}  // namespace

constinit std::atomic<Client*> Client::instance_{nullptr};

void OnUnknownCall(const char* name) {
  Client* client = Client::Get();
  if (client != nullptr) client->DisableSwapping(name);
}

Client::Client()
    : swap_driver_(MakeSwapDriver()),
      arena_(swap_driver_, ~Bytes{0}),
      ledger_(swap_driver_, arena_),
      job_(JobOfThisProcess()),
      mover_(swap_driver_, ledger_) {
  const char* resident = getenv("REVEZA_RESIDENT");
  resident_ = resident != nullptr && strcmp(resident, "1") == 0;
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void Client::MakeInstance() {
  auto* client = new Client;
  Gate::Prepare();
  pthread_atfork(nullptr, nullptr, AfterForkInChild);
  instance_.store(client, std::memory_order_release);
  // All signals are blocked in the agent; they are for the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto run = [](void* started) -> void* {
    Agent(*static_cast<Client*>(started)).Run();
    return nullptr;
  };
  pthread_t thread;
  if (pthread_create(&thread, nullptr, run, client) == 0) {
    pthread_detach(thread);
  } else {
    instance_.store(nullptr, std::memory_order_release);
    PrintNotice("cannot create a thread; this program runs without sharing the GPU");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Client* Client::Start() {
  if (IsDisabled() || forked_child.load(std::memory_order_relaxed)) return nullptr;
  pthread_once(&start_once, MakeInstance);
  return Get();
}

// The child has no agent and no context. All calls are passed to the driver, which rejects them if
// the parent had initialised it.
void Client::AfterForkInChild() {
  if (Get() == nullptr) return;
  forked_child.store(true, std::memory_order_relaxed);
  instance_.store(nullptr, std::memory_order_relaxed);
  Gate::ResetAfterFork();
  InterruptWatch::ResetAfterFork();
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

void Client::WaitFor(const bool& answered, const char* what) {
  WaitNotices notices;
  InterruptWatch interrupts;
  while (!answered) {
    answered_.WaitFor(requests_mutex_, kNoticeInterval);
    if (answered) break;
    interrupts.Check();
    notices.Print(what, kNoRoom);
  }
}

CUuuid DeviceUuid(const DriverCalls& real, CUdevice device) {
  CUuuid uuid{};
  const auto get =
      real.cuDeviceGetUuid_v2 != nullptr ? real.cuDeviceGetUuid_v2 : real.cuDeviceGetUuid;
  if (get != nullptr) get(&uuid, device);
  return uuid;
}

bool Client::AwaitAdmission(int ordinal) {
  ContextRequest request;
  request.ordinal = ordinal;
  const DriverCalls& real = Real();
  std::size_t total = 0;
  if (real.cuDeviceTotalMem_v2(&total, ordinal) != CUDA_SUCCESS) return false;
  request.total = total;
  request.uuid = DeviceUuid(real, ordinal);
  GatePause pause;
  MutexLock lock(requests_mutex_);
  if (AwaitFirstContext(ordinal)) return false;
  first_contexts_.push_back({ordinal, false});
  context_requests_.push_back(&request);
  Wake();
  WaitFor(request.answered, kRoomForContext);
  ledger_.AddDevice(ordinal, nullptr, request.budget, request.credit);
  return true;
}

bool Client::AwaitFirstContext(int ordinal) {
  WaitNotices notices;
  for (;;) {
    const auto first = std::ranges::find(first_contexts_, ordinal, &FirstContext::ordinal);
    if (first == first_contexts_.end() || first->created) return first != first_contexts_.end();
    if (!answered_.WaitFor(requests_mutex_, kNoticeInterval))
      notices.Print(kRoomForContext, kNoRoom);
  }
}

void Client::OnFirstContext(int ordinal, bool created) {
  MutexLock lock(requests_mutex_);
  const auto first = std::ranges::find(first_contexts_, ordinal, &FirstContext::ordinal);
  if (created) {
    first->created = true;
  } else {
    first_contexts_.erase(first);
    ledger_.SetContextBytes(ordinal, 0);
    UsageChanged();
  }
  created_.emplace_back(ordinal, created);
  answered_.NotifyAll();
  Wake();
}

std::optional<Bytes> Client::ReserveFurtherContext(int ordinal) {
  if (contexts_.Of(ordinal) == nullptr) return 0;
  const Bytes size = ledger_.GetUsage(ordinal).context;
  if (size > 0 && !ReservePinned(ordinal, size)) return std::nullopt;
  return size;
}

bool Client::OnContextCreated(int ordinal, CUcontext context) {
  const bool added = contexts_.Add(ordinal, context);
  ledger_.SetContext(ordinal, contexts_.Of(ordinal));
  return added;
}

std::vector<Counted> Client::EndContext(int ordinal, CUcontext context) {
  const RelaxedCapture relaxed;
  contexts_.Remove(context);
  host_waits_.OnContextDestroy(context);
  // Freed below; their addresses may be given out again before the deferred frees run.
  for (const CUdeviceptr address : deferred_frees_.TakeAll()) {
    swap::AddressInfo info;
    if (ledger_.Find(address, &info) && info.owner != context) deferred_frees_.Add(address);
  }
  ledger_.FreeOwned(context);
  // A device's first context is counted by the ledger; if it ends first, another takes its place.
  std::optional<Counted> further = counted_.Remove(context);
  if (const CUcontext other = contexts_.Of(ordinal); !further && other != nullptr) {
    further = counted_.Remove(other);
  }
  std::vector<Counted> released = counted_.RemoveOwned(context);
  for (const Counted& one : resident_allocations_.RemoveOwned(context)) released.push_back(one);
  if (further) released.push_back(*further);
  ledger_.OnContextDestroy(ordinal, context, contexts_.Of(ordinal));
  UsageChanged();
  return released;
}

std::vector<Counted> Client::OnContextDestroy(CUcontext context) {
  const std::optional<int> ordinal = contexts_.BeginEnd(context);
  if (!ordinal) return {};
  {
    // The driver would wait as well, but after the memory has gone. It ends the context's captures.
    const RelaxedCapture relaxed;
    const swap::CurrentContext current(swap_driver_, context);
    Real().cuCtxSynchronize();
  }
  MutexLock moving(moving_mutex_);
  {
    const RelaxedCapture relaxed;
    mover_.CancelSwapIn();
  }
  return EndContext(*ordinal, context);
}

// Only the driver counts the references; whether the context ended is known after the call.
CUresult Client::ReleasePrimary(CUdevice device, CUcontext context, CUresult (*release)(CUdevice)) {
  const std::optional<int> ordinal = contexts_.BeginEnd(context);
  MutexLock moving(moving_mutex_);
  {
    const RelaxedCapture relaxed;
    mover_.CancelSwapIn();
  }
  const CUresult result = release(device);
  unsigned int flags = 0;
  int active = 0;
  const bool ended =
      Real().cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active == 0;
  if (ended && ordinal) {
    ReleasePinned(EndContext(*ordinal, context));
  } else {
    contexts_.Keep(context);
  }
  return result;
}

CUresult Client::Synchronise(const Contexts::Held& held, CUcontext owner) {
  const RelaxedCapture relaxed;  // for captures in other contexts
  CUcontext before = nullptr;
  Real().cuCtxGetCurrent(&before);
  CUresult first = CUDA_SUCCESS;
  for (const CUcontext context : held.contexts()) {
    const swap::CurrentContext current(swap_driver_, context);
    const CUresult result = Real().cuCtxSynchronize();
    if (first == CUDA_SUCCESS && (context == owner || context == before)) first = result;
  }
  return first;
}

void Client::PrepareArena(Bytes bytes) {
  arena_wanted_.store(bytes, std::memory_order_release);
  if (preparing_arena_.exchange(true, std::memory_order_acq_rel)) return;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, PrepareMain, this) == 0) {
    pthread_detach(thread);
  } else {
    preparing_arena_.store(false, std::memory_order_release);
  }
}

void* Client::PrepareMain(void* argument) {
  Client& client = *static_cast<Client*>(argument);
  const RelaxedCapture relaxed;
  Bytes done = 0;
  Bytes wanted = 0;
  while ((wanted = client.arena_wanted_.load(std::memory_order_acquire)) > done) {
    const std::vector<CUcontext> contexts = client.contexts_.All();
    if (contexts.empty()) break;
    swap::CurrentContext current(client.swap_driver_, contexts[0]);
    if (!client.arena_.Prepare(wanted)) break;
    done = wanted;
  }
  client.preparing_arena_.store(false, std::memory_order_release);
  client.UsageChanged();
  return nullptr;
}

wire::Growth Client::RequestGrowth(int ordinal, wire::GrowthKind kind, Bytes bytes) {
  GrowthRequest request;
  request.ordinal = ordinal;
  request.kind = kind;
  request.bytes = bytes;
  GatePause pause;
  MutexLock lock(requests_mutex_);
  request.number = next_request_++;
  growth_requests_.push_back(&request);
  Wake();
  WaitFor(request.answered, "GPU memory");
  return request.answer;
}

bool Client::ReservePinned(int ordinal, Bytes bytes) {
  if (bytes > ledger_.Budget(ordinal)) return false;  // can never be granted
  while (!ledger_.SpendOnCounted(ordinal, bytes)) {
    // What pools have given back since they were last looked at may do.
    if (pools_.SettleAll(ledger_) && ledger_.SpendOnCounted(ordinal, bytes)) break;
    const wire::Growth answer = RequestGrowth(ordinal, wire::GrowthKind::kPinned, bytes);
    if (answer == wire::Growth::kRefused) return false;
    if (answer == wire::Growth::kLater) GateScope wait_for_the_gate;
  }
  UsageChanged();
  return true;
}

void Client::ReleasePinned(int ordinal, Bytes bytes) {
  ledger_.AddCounted(ordinal, -static_cast<std::int64_t>(bytes));
  UsageChanged();
}

void Client::ReleasePinned(const std::vector<Counted>& released) {
  for (const Counted& one : released) ReleasePinned(one.ordinal, one.bytes);
}

void Client::CorrectPinned(int ordinal, Bytes reserved, Bytes taken) {
  if (taken > reserved) ledger_.CountGrown(ordinal, taken - reserved);
  if (taken < reserved) ReleasePinned(ordinal, reserved - taken);
  UsageChanged();
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

void Client::UsageChanged() {
  if (!usage_changed_.exchange(true, std::memory_order_acq_rel)) Wake();
}

void Client::DisableSwapping(const char* cause) {
  if (!swapping_disabled_.exchange(true, std::memory_order_acq_rel)) {
    PrintNotice(
        "%s is not supported by this version: this program keeps its GPU memory from now on",
        cause);
    UsageChanged();  // swappable memory now counts as pinned
  }
}

void Client::AtClosedGate() {
  if (!at_gate_.exchange(true, std::memory_order_acq_rel)) Wake();
}

void Client::CopyWaitReason(char* out, std::size_t capacity) const {
  MutexLock lock(wait_reason_mutex_);
  wire::CopyText(out, capacity, wait_reason_);
}

}  // namespace reveza::interpose
