// The client: contexts from their admission to their end.
#include <algorithm>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/gate_wait.h"
#include "reveza/gpu/swap/physical.h"

namespace reveza::interpose {

Admission Client::AwaitAdmission(int ordinal) {
  ContextRequest request;
  request.ordinal = ordinal;
  const DriverCalls& real = Real();
  std::size_t total = 0;
  if (real.cuDeviceTotalMem_v2(&total, ordinal) != CUDA_SUCCESS) {
    return Admission::kFurther;
  }
  request.total = total;
  request.uuid = DeviceUuid(real, ordinal);
  GatePause pause;
  MutexLock lock(requests_mutex_);
  if (AwaitFirstContext(ordinal)) return Admission::kFurther;
  first_contexts_.push_back({.ordinal = ordinal});
  context_requests_.push_back(&request);
  Wake();
  WaitFor(request.answered, kRoomForContext);
  if (request.refused) {
    std::erase_if(first_contexts_,
                  [&](const FirstContext& first) { return first.ordinal == ordinal; });
    answered_.NotifyAll();
    return Admission::kRefused;
  }
  ledger_.AddDevice(ordinal, nullptr, request.budget, request.credit);
  return Admission::kFirst;
}

bool Client::AwaitFirstContext(int ordinal) {
  WaitNotices notices;
  for (;;) {
    const auto first = std::ranges::find(first_contexts_, ordinal, &FirstContext::ordinal);
    if (first == first_contexts_.end()) return false;
    if (first->created) {
      ++first->further;
      return true;
    }
    if (!answered_.WaitFor(requests_mutex_, kNoticeInterval))
      notices.Print(kRoomForContext, kNoRoom);
  }
}

void Client::BackByHost(int ordinal) {
  const DriverCalls& real = Real();
  // Drivers before CUDA 12.9 do not know the attribute, and those before 12.2 not the location.
  constexpr auto kSupported = static_cast<CUdevice_attribute>(141);
  int supported = 0;
  const bool unsupported =
      real.cuDeviceGetAttribute(&supported, kSupported, ordinal) == CUDA_SUCCESS && supported == 0;
  int node = 0;
  if (real.cuDeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, ordinal) != CUDA_SUCCESS ||
      node < 0) {
    node = 0;
  }
  const CUresult tried =
      unsupported ? CUDA_ERROR_NOT_SUPPORTED : swap::TryHostMemory(swap_driver_, ordinal, node);
  if (tried == CUDA_SUCCESS) {
    // The driver has not been seen to take such memory off with the contexts.
    KeepContexts();
    return ledger_.BackByHost(ordinal, node);
  }
  PrintNotice(
      "the driver cannot put memory of the host in place of GPU memory (error %d; that needs CUDA"
      " 12.2 or later): more than the card is out of memory",
      static_cast<int>(tried));
}

void Client::OnFirstContext(int ordinal, bool created) {
  if (created && larger_than_card_) BackByHost(ordinal);
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

void Client::OnFurtherContext(int ordinal) {
  MutexLock lock(requests_mutex_);
  const auto first = std::ranges::find(first_contexts_, ordinal, &FirstContext::ordinal);
  if (first == first_contexts_.end()) return;  // no such device
  --first->further;
  ForgetDeviceWithoutContext(ordinal);
}

// The next context is a first one again, and its memory needs room.
void Client::ForgetDeviceWithoutContext(int ordinal) {
  const auto first = std::ranges::find(first_contexts_, ordinal, &FirstContext::ordinal);
  if (first == first_contexts_.end() || !first->created || first->further > 0 ||
      contexts_.Of(ordinal) != nullptr) {
    return;
  }
  first_contexts_.erase(first);
  ledger_.ReleaseContextBytes(ordinal);
  UsageChanged();
}

std::optional<Bytes> Client::ReserveFurtherContext(int ordinal) {
  if (contexts_.Of(ordinal) == nullptr) return 0;
  const Bytes size = ledger_.GetUsage(ordinal).context;
  if (size > 0 && !ReservePinned(ordinal, size)) return std::nullopt;
  return size;
}

bool Client::OnContextCreated(int ordinal, CUcontext context, bool primary) {
  const bool added = contexts_.Add(ordinal, context, primary);
  ledger_.SetContext(ordinal, contexts_.Of(ordinal));
  return added && contexts_.CountOf(ordinal) > 1;
}

std::optional<int> Client::BeginContextEnd(CUcontext context, bool synchronise) {
  const std::optional<int> ordinal = contexts_.BeginEnd(context);
  if (synchronise && ordinal) {
    // The driver would wait as well, but with the agent's lock. It ends the context's captures.
    const RelaxedCapture relaxed;
    const swap::CurrentContext current(swap_driver_, context);
    Real().cuCtxSynchronize();
  }
  for (;;) {
    moving_mutex_.Lock();
    {
      const RelaxedCapture relaxed;
      mover_.CancelSwapIn();
    }
    // Host copies of memory that outlives the contexts of its device need one of them to come back.
    const bool last = ordinal && contexts_.CountOf(*ordinal) == 1;
    if (!last || ledger_.residency() != swap::Residency::kOut || !ledger_.HasHostCopies(*ordinal)) {
      stream_pools_.BeginContextEnd(context);
      return ordinal;
    }
    moving_mutex_.Unlock();
    const GateScope wait_for_the_gate;
  }
}

void Client::FinishContextEnd(std::optional<int> ordinal, CUcontext context, bool ended) {
  stream_pools_.FinishContextEnd(context, ended);
  if (ended && ordinal) {
    EndContext(*ordinal, context);
  } else {
    contexts_.Keep(context);
  }
  moving_mutex_.Unlock();
}

void Client::EndContext(int ordinal, CUcontext context) {
  const RelaxedCapture relaxed;
  contexts_.Remove(context);
  host_waits_.OnContextDestroy(context);
  captures_.OnContextDestroy(context);
  // Freed below; their addresses may be given out again before the deferred frees run.
  const bool last = contexts_.Of(ordinal) == nullptr;
  for (const CUdeviceptr address : deferred_frees_.TakeAll()) {
    swap::AddressInfo info;
    if (!ledger_.Find(address, &info)) continue;
    const bool ends = info.pool == nullptr ? info.owner == context : last && info.device == ordinal;
    if (!ends) deferred_frees_.Add(address);
  }
  ledger_.FreeOwned(context);
  for (const ImportedMemory::Mapping& mapping : imported_memory_.TakeOf(context)) Unmap(mapping);
  if (last) stream_pools_.OnDeviceEnd(ordinal);
  // A device's first context is counted by the ledger; if it ends first, another takes its place.
  std::optional<Counted> further = counted_.Remove(context);
  if (const CUcontext other = contexts_.Of(ordinal); !further && other != nullptr) {
    further = counted_.Remove(other);
  }
  if (further) ReleasePinned(further->ordinal, further->bytes);
  ReleasePinned(counted_.RemoveOwned(context));
  ReleasePinned(resident_allocations_.RemoveOwned(context));
  ledger_.OnContextDestroy(ordinal, context, contexts_.Of(ordinal));
  UsageChanged();
  MutexLock lock(requests_mutex_);
  ForgetDeviceWithoutContext(ordinal);
}

std::optional<CUresult> Client::Synchronise(const Contexts::Held& held, CUcontext owner) {
  const RelaxedCapture relaxed;  // for captures in other contexts
  CUcontext before = nullptr;
  Real().cuCtxGetCurrent(&before);
  CUresult first = CUDA_SUCCESS;
  for (const CUcontext context : held.contexts()) {
    const swap::CurrentContext current(swap_driver_, context);
    CUresult result = CUDA_SUCCESS;
    // Each by itself: a capture may begin while one waits for its GPU work.
    if (!captures().RunIfNone([&] { result = Real().cuCtxSynchronize(); })) return std::nullopt;
    if (first == CUDA_SUCCESS && (context == owner || context == before)) first = result;
  }
  return first;
}

}  // namespace reveza::interpose
