// Contexts and the current context of a thread.
#include <algorithm>

#include "fakecuda/executor.h"
#include "fakecuda/graph.h"
#include "fakecuda/memory.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

CUresult MakeContext(State& state, CUdevice device, std::shared_ptr<Context>* made) {
  if (!state.card->HasDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!state.card->AddContextBytes(device, state.options.context_bytes)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  auto context = std::make_shared<Context>();
  context->device = device;
  context->bytes = state.options.context_bytes;
  context->legacy = std::make_shared<Stream>();
  context->legacy->context = context.get();
  context->legacy->legacy = true;
  context->legacy->id = state.next_id++;
  context->streams.insert(context->legacy);
  context->handle = state.contexts.Add(context);
  *made = std::move(context);
  return CUDA_SUCCESS;
}

// Waits for the context's work and frees its cuMemAlloc allocations, but not cuMemCreate memory;
// with the last context of a device, also the memory of its pools.
void DestroyContext(StateLock& lock, const std::shared_ptr<Context>& context) {
  State& state = State::Get();
  WaitForContext(lock, *context);
  std::erase_if(state.captures,
                [&](const auto& entry) { return entry.second->origin->context == context.get(); });
  const bool last = std::ranges::none_of(state.contexts.all(), [&](const auto& other) {
    return other.second != context && other.second->device == context->device;
  });
  std::vector<CUdeviceptr> memory;
  for (const auto& [start, allocation] : state.allocations) {
    const bool pooled =
        allocation.kind == MemoryKind::kPool && allocation.device == context->device;
    if (allocation.context == context.get() || (pooled && last)) memory.push_back(start);
  }
  for (const CUdeviceptr start : memory) FreeAllocation(lock, start);
  const auto arrays = state.arrays.all();  // the lock may be released
  for (const auto& [number, array] : arrays) {
    if (array->context == context.get()) ReleaseRange(lock, array->memory);
  }
  const auto belongs = [&](const auto& object) { return object.context == context.get(); };
  state.streams.RemoveIf(belongs);
  state.modules.RemoveIf(belongs);
  state.events.RemoveIf(belongs);
  state.arrays.RemoveIf(belongs);
  state.card->RemoveContextBytes(context->device, context->bytes);
  state.contexts.Remove(context->handle);
  state.destroyed_contexts[context->handle] = context->device;
}

CUresult Synchronise(StateLock& lock, Context& context) {
  State& state = State::Get();
  RETURN_IF_ERROR(CheckNoCapture(state, context));
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  const CUresult result = WaitForContext(lock, context);
  TrimPools(lock);
  return result;
}

}  // namespace

namespace calls {

CUresult cuCtxCreate_v4(State& state, CUcontext* made, CUctxCreateParams* parameters, unsigned,
                        CUdevice device) {
  if (made == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (parameters != nullptr &&
      (parameters->execAffinityParams != nullptr || parameters->cigParams != nullptr)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  std::shared_ptr<Context> context;
  RETURN_IF_ERROR(MakeContext(state, device, &context));
  *made = context->handle;
  ThreadState::Get().contexts.push_back(context->handle);
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v3(State& state, CUcontext* made, CUexecAffinityParam* parameters, int count,
                        unsigned, CUdevice device) {
  if (parameters != nullptr && count > 0) return CUDA_ERROR_NOT_SUPPORTED;
  return calls::cuCtxCreate_v4(state, made, nullptr, 0, device);
}

CUresult cuCtxDestroy_v2(State& state, StateLock& lock, CUcontext handle) {
  const std::shared_ptr<Context> context = state.contexts.Find(handle);
  if (context == nullptr || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  std::vector<CUcontext>& stack = ThreadState::Get().contexts;
  if (!stack.empty() && stack.back() == handle) stack.pop_back();
  DestroyContext(lock, context);
  return CUDA_SUCCESS;
}

CUresult cuCtxAttach(Current& current, State&, CUcontext* handle, unsigned flags) {
  if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (current.context->primary) return CUDA_ERROR_NOT_SUPPORTED;
  ++current.context->references;
  *handle = current.context->handle;
  return CUDA_SUCCESS;
}

CUresult cuCtxDetach(State& state, StateLock& lock, CUcontext handle) {
  const std::shared_ptr<Context> context = state.contexts.Find(handle);
  if (context == nullptr || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  return --context->references > 0 ? CUDA_SUCCESS : calls::cuCtxDestroy_v2(state, lock, handle);
}

CUresult cuCtxPushCurrent_v2(State& state, CUcontext handle) {
  if (state.FindContext(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  ThreadState::Get().contexts.push_back(handle);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext* handle) {
  std::vector<CUcontext>& stack = ThreadState::Get().contexts;
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (handle != nullptr) *handle = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(State& state, CUcontext handle) {
  std::vector<CUcontext>& stack = ThreadState::Get().contexts;
  if (handle == nullptr) {
    if (!stack.empty()) stack.pop_back();
    return CUDA_SUCCESS;
  }
  if (state.FindContext(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (stack.empty()) stack.push_back(nullptr);
  stack.back() = handle;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::vector<CUcontext>& stack = ThreadState::Get().contexts;
  *handle = stack.empty() ? nullptr : stack.back();
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  Current current = EnterContext();
  if (handle != nullptr) {
    current.context = State::Get().FindContext(handle);
    if (current.context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    current.result = current.context->failed;
  }
  return current.ok() ? Synchronise(current.lock, *current.context) : current.result;
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  const Current current = EnterContext();
  const State& state = State::Get();
  if (handle == nullptr && current.result == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
    *device = state.destroyed_contexts.at(ThreadState::Get().contexts.back());
    return CUDA_SUCCESS;
  }
  const Context* context = handle == nullptr ? current.context : state.FindContext(handle);
  if (context == nullptr) return handle == nullptr ? current.result : CUDA_ERROR_INVALID_CONTEXT;
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(Current& current, State& state, CUcontext peer, unsigned flags) {
  const Context* other = state.FindContext(peer);
  if (other == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (other->device == current.context->device) return CUDA_ERROR_INVALID_DEVICE;
  if (!current.context->peers.insert(other->device).second) {
    return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  }
  RefreshPeerAccess(state, other->device);
  return CUDA_SUCCESS;
}

CUresult cuCtxDisablePeerAccess(Current& current, State& state, CUcontext peer) {
  const Context* other = state.FindContext(peer);
  if (other == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (current.context->peers.erase(other->device) == 0) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  RefreshPeerAccess(state, other->device);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(State& state, CUcontext* handle, CUdevice device) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!state.card->HasDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  Primary& primary = state.primaries[static_cast<std::size_t>(device)];
  if (primary.context == nullptr) {
    RETURN_IF_ERROR(MakeContext(state, device, &primary.context));
    primary.context->primary = true;
  }
  ++primary.references;
  *handle = primary.context->handle;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(State& state, StateLock& lock, CUdevice device) {
  if (!state.card->HasDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  Primary& primary = state.primaries[static_cast<std::size_t>(device)];
  const std::shared_ptr<Context> context = std::move(primary.context);
  primary.context = nullptr;
  primary.references = 0;
  if (context != nullptr) DestroyContext(lock, context);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(State& state, StateLock& lock, CUdevice device) {
  if (!state.card->HasDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  Primary& primary = state.primaries[static_cast<std::size_t>(device)];
  if (primary.references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--primary.references > 0) return CUDA_SUCCESS;
  return calls::cuDevicePrimaryCtxReset_v2(state, lock, device);
}

CUresult cuDevicePrimaryCtxGetState(State& state, CUdevice device, unsigned* flags, int* active) {
  if (!state.card->HasDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  const Primary& primary = state.primaries[static_cast<std::size_t>(device)];
  if (flags != nullptr) *flags = 0;
  if (active != nullptr) *active = primary.context != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
