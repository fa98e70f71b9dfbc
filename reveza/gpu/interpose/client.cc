#include "reveza/gpu/interpose/client.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/agent.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/gate_wait.h"
#include "reveza/gpu/interpose/interrupts.h"
#include "reveza/gpu/interpose/job_id.h"
#include "reveza/gpu/interpose/real_driver.h"
#include "reveza/gpu/interpose/resolver.h"
#include "reveza/gpu/wire/codec.h"

// Made from swap/fingerprint.cu by the build.
extern "C" const unsigned char reveza_fingerprint_image[];

namespace reveza::interpose {
namespace {

pthread_once_t start_once = PTHREAD_ONCE_INIT;
constinit std::atomic<bool> forked_child{false};

// REVEZA_FINGERPRINTS=0 copies all memory, whether it has changed or not.
const void* FingerprintImage() {
  return Client::IsSet("REVEZA_FINGERPRINTS", "0") ? nullptr : reveza_fingerprint_image;
}

// Returns a GPU whose memory cannot be mapped anew; nullopt if there is none. A driver before CUDA
// 10.2, which does not know of that, does not know the attribute either.
std::optional<int> DeviceWithoutVirtualMemory() {
  int devices = 0;
  Real().cuDeviceGetCount(&devices);
  for (int ordinal = 0; ordinal < devices; ++ordinal) {
    int supported = 0;
    if (Real().cuDeviceGetAttribute(&supported,
                                    CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                    ordinal) != CUDA_SUCCESS ||
        supported == 0) {
      return ordinal;
    }
  }
  return std::nullopt;
}

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
      .SetWords = real.cuMemsetD32Async,
      .Prefetch = real.cuMemPrefetchAsync,
      .StreamCreate = real.cuStreamCreate,
      .StreamDestroy = real.cuStreamDestroy_v2,
      .StreamSynchronize = real.cuStreamSynchronize,
      .EventCreate = real.cuEventCreate,
      .EventDestroy = real.cuEventDestroy_v2,
      .EventRecord = real.cuEventRecord,
      .EventSynchronize = real.cuEventSynchronize,
      .HostAllocate = real.cuMemHostAlloc,
      .HostGetDevicePointer = real.cuMemHostGetDevicePointer_v2,
      .HostRegister = real.cuMemHostRegister_v2,
      .HostUnregister = real.cuMemHostUnregister,
      .ModuleLoad = real.cuModuleLoadData,
      .ModuleGetFunction = real.cuModuleGetFunction,
      .Launch = real.cuLaunchKernel,
      .ContextGetCurrent = real.cuCtxGetCurrent,
      .ContextPushCurrent = real.cuCtxPushCurrent_v2,
      .ContextPopCurrent = real.cuCtxPopCurrent_v2,
      .fingerprint_image = FingerprintImage(),
  };
}

}  // namespace

constinit std::atomic<Client*> Client::instance_{nullptr};

void OnUnknownCall(const char* name) {
  Client* client = Client::Get();
  if (client != nullptr) client->DisableSwapping(name);
}

void KeepContexts() {
  if (Client* client = Client::Get()) client->KeepContexts();
}

Client::Client()
    : swap_driver_(MakeSwapDriver()),
      arena_(swap_driver_, ~Bytes{0}),
      ledger_(swap_driver_, arena_),
      job_(JobOfThisProcess()),
      mover_(swap_driver_, ledger_, IsSet("REVEZA_VERIFY", "1")),
      placement_(swap_driver_, ledger_) {
  resident_ = IsSet("REVEZA_RESIDENT", "1");
  if (const auto ordinal = DeviceWithoutVirtualMemory(); ordinal && !resident_) {
    resident_ = true;
    PrintNotice(
        "GPU %d has no virtual memory management: this program keeps its GPU memory, as with"
        " --resident",
        *ordinal);
  }
  larger_than_card_ = !resident_ && IsSet("REVEZA_LARGER_THAN_CARD", "1");
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
  Get()->ticket_office_.AfterForkInChild();
  forked_child.store(true, std::memory_order_relaxed);
  instance_.store(nullptr, std::memory_order_relaxed);
  Gate::ResetAfterFork();
  InterruptWatch::ResetAfterFork();
}

bool Client::IsSet(const char* name, const char* value) {
  const char* set = getenv(name);
  return set != nullptr && strcmp(set, value) == 0;
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
  Bytes wanted = 0;
  while ((wanted = client.arena_wanted_.load(std::memory_order_acquire)) > client.arena_.pinned() &&
         client.arena_.MayPrepare(wanted)) {
    const TryContextGuard guard;
    if (!guard.held()) break;
    // By one chunk at a time: a thread that ends the context waits meanwhile.
    const Contexts::Held held = client.contexts_.HoldAny();
    if (held.contexts().empty()) break;
    const swap::CurrentContext current(client.swap_driver_, held.contexts()[0]);
    const Bytes next = client.arena_.pinned() + swap::HostArena::kChunk;
    if (!client.arena_.Prepare(std::min(wanted, next))) break;
  }
  client.preparing_arena_.store(false, std::memory_order_release);
  client.UsageChanged();
  return nullptr;
}

wire::Growth Client::RequestGrowth(int ordinal, wire::GrowthKind kind, Bytes bytes,
                                   Bytes* promised) {
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
  *promised += request.credit;
  return request.answer;
}

bool Client::ReservePinned(int ordinal, Bytes bytes) {
  if (bytes > ledger_.Budget(ordinal)) return false;  // can never be granted
  for (Bytes promised = 0;;) {
    // What pools have given back since they were last looked at may do.
    const bool spent = ledger_.SpendOnCounted(ordinal, bytes) ||
                       (pools_.SettleAll(ledger_) && ledger_.SpendOnCounted(ordinal, bytes));
    ledger_.Fulfil(ordinal, std::exchange(promised, 0));
    if (spent) break;
    const wire::Growth answer = RequestGrowth(ordinal, wire::GrowthKind::kPinned, bytes, &promised);
    if (answer == wire::Growth::kRefused && !ReleaseKeptMemory(ordinal)) return false;
    if (answer == wire::Growth::kLater) GateScope wait_for_the_gate;
  }
  UsageChanged();
  return true;
}

bool Client::ReleaseKeptMemory(int ordinal) {
  constexpr int kMaxRetries = 20'000;  // of 0.5 ms: ten seconds
  for (int i = 0; i < kMaxRetries; ++i) {
    if (stream_pools_.ReleaseIdle(ordinal)) {
      UsageChanged();
      return true;
    }
    // What the GPU waits for may be a thread of the program that waits here.
    if (!stream_pools_.KeepsAny(ordinal) || host_waits_.Pending(HostWaits::Kind::kValue)) break;
    GatePause pause;
    usleep(500);
  }
  return false;
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

void Client::Unmap(const ImportedMemory::Mapping& mapping) {
  const RelaxedCapture relaxed;
  Real().cuMemUnmap(mapping.base, mapping.size);
  Real().cuMemAddressFree(mapping.base, mapping.size);
  ReleasePinned(mapping.ordinal, mapping.size);
}

void Client::SetPeerAccess(CUcontext peer_context, bool enabled) {
  CUdevice accessor = 0;
  CUdevice owner = 0;
  if (Real().cuCtxGetDevice(&accessor) != CUDA_SUCCESS) return;
  {
    swap::CurrentContext current(swap_driver_, peer_context);
    if (Real().cuCtxGetDevice(&owner) != CUDA_SUCCESS) return;
  }
  if (!enabled && stream_pools_.HasPeer(owner, accessor)) return;
  ledger_.SetPeer(owner, accessor, enabled);
}

void Client::SetPoolAccess(CUmemoryPool pool, int accessor) {
  if (const auto owner = stream_pools_.AddPeer(pool, accessor)) {
    ledger_.SetPeer(*owner, accessor, true);
  }
}

void Client::Yield() {
  yields_.store(true, std::memory_order_release);
  Wake();
}

void Client::Hold(bool on) {
  int holds = holds_.load(std::memory_order_relaxed);
  while ((on || holds > 0) &&
         !holds_.compare_exchange_weak(holds, holds + (on ? 1 : -1), std::memory_order_acq_rel)) {
  }
  Wake();
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
