// Contexts: primary ones and made ones, and which is current to a thread.
#include "context.h"

#include <algorithm>

#include "calls.h"
#include "executor.h"
#include "graph.h"
#include "memory.h"
#include "pool.h"

namespace fakecuda {

CUresult MakeContext(State& state, CUdevice device, unsigned flags,
                     std::shared_ptr<Context>* made) {
  if (device < 0 || device >= state.card->devices()) return CUDA_ERROR_INVALID_DEVICE;
  if (!state.card->AddContextBytes(device, state.options.context_bytes)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  auto context = std::make_shared<Context>();
  context->id = state.next_id++;
  context->device = device;
  context->flags = flags;
  context->bytes = state.options.context_bytes;
  context->legacy = std::make_shared<Stream>();
  context->legacy->context = context.get();
  context->legacy->legacy = true;
  context->legacy->id = state.next_id++;
  context->streams.insert(context->legacy);
  context->limits = {{CU_LIMIT_STACK_SIZE, 1024},
                     {CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20},
                     {CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20}};
  context->handle = state.contexts.Add(context);
  *made = std::move(context);
  return CUDA_SUCCESS;
}

void DestroyContext(StateLock& lock, const std::shared_ptr<Context>& context) {
  State& state = State::Get();
  WaitForContext(lock, *context);
  std::erase_if(state.captures,
                [&](const auto& entry) { return entry.second->origin->context == context.get(); });
  std::vector<CUdeviceptr> memory;
  for (const auto& [start, allocation] : state.allocations) {
    if (allocation.context == context.get()) memory.push_back(start);
  }
  for (const CUdeviceptr start : memory) FreeAllocation(lock, start);
  std::vector<CUstream> streams;
  for (const std::shared_ptr<Stream>& stream : context->streams) {
    if (!stream->legacy && stream->handle != CU_STREAM_PER_THREAD) {
      streams.push_back(stream->handle);
    }
  }
  for (const CUstream stream : streams) state.streams.Remove(stream);
  std::vector<CUmodule> modules;
  for (const auto& [number, module] : state.modules.all()) {
    if (module->context == context.get()) modules.push_back(reinterpret_cast<CUmodule>(number));
  }
  for (const CUmodule module : modules) state.modules.Remove(module);
  std::vector<CUevent> events;
  for (const auto& [number, event] : state.events.all()) {
    if (event->context == context.get()) events.push_back(reinterpret_cast<CUevent>(number));
  }
  for (const CUevent event : events) state.events.Remove(event);
  state.card->RemoveContextBytes(context->device, context->bytes);
  state.contexts.Remove(context->handle);
}

namespace calls {

CUresult cuCtxCreate_v4(CUcontext* made, CUctxCreateParams* parameters, unsigned flags,
                        CUdevice device) {
  if (made == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (parameters != nullptr &&
      (parameters->execAffinityParams != nullptr || parameters->cigParams != nullptr)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  State& state = State::Get();
  const StateLock lock(state.mutex);
  std::shared_ptr<Context> context;
  const CUresult result = MakeContext(state, device, flags, &context);
  if (result != CUDA_SUCCESS) return result;
  context->version = 3020;
  *made = context->handle;
  ThreadState::Get().contexts.push_back(context->handle);
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v3(CUcontext* made, CUexecAffinityParam* parameters, int count, unsigned flags,
                        CUdevice device) {
  if (parameters != nullptr && count > 0) return CUDA_ERROR_NOT_SUPPORTED;
  return calls::cuCtxCreate_v4(made, nullptr, flags, device);
}

CUresult cuCtxCreate_v2(CUcontext* made, unsigned flags, CUdevice device) {
  return calls::cuCtxCreate_v4(made, nullptr, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
  State& state = State::Get();
  StateLock lock(state.mutex);
  const std::shared_ptr<Context> context = state.contexts.Find(handle);
  if (context == nullptr || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  std::vector<CUcontext>& stack = ThreadState::Get().contexts;
  if (!stack.empty() && stack.back() == handle) stack.pop_back();
  DestroyContext(lock, context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  const StateLock lock(State::Get().mutex);
  if (State::Get().FindContext(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
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

CUresult cuCtxSetCurrent(CUcontext handle) {
  const StateLock lock(State::Get().mutex);
  std::vector<CUcontext>& stack = ThreadState::Get().contexts;
  if (handle == nullptr) {
    if (!stack.empty()) stack.pop_back();
    return CUDA_SUCCESS;
  }
  if (State::Get().FindContext(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
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

CUresult cuCtxGetDevice(CUdevice* device) {
  const Current current = EnterContext();
  if (current.context == nullptr) return current.result;
  *device = current.context->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned* flags) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  *flags = current.context->flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned flags) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  current.context->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  const StateLock lock(State::Get().mutex);
  if (handle == nullptr && !ThreadState::Get().contexts.empty()) {
    handle = ThreadState::Get().contexts.back();
  }
  const Context* context = State::Get().FindContext(handle);
  if (context == nullptr) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *id = context->id;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
  const StateLock lock(State::Get().mutex);
  if (handle != nullptr && State::Get().FindContext(handle) == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *version = 3020;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  const CUresult captured = CheckNoCapture(State::Get(), *current.context);
  if (captured != CUDA_SUCCESS) return captured;
  const CUresult unsafe = CheckUnsafeCall(State::Get());
  if (unsafe != CUDA_SUCCESS) return unsafe;
  const CUresult result = WaitForContext(current.lock, *current.context);
  TrimPools(current.lock);
  return result;
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  if (handle == nullptr) return calls::cuCtxSynchronize();
  State& state = State::Get();
  StateLock lock(state.mutex);
  Context* context = state.FindContext(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->failed != CUDA_SUCCESS) return context->failed;
  const CUresult captured = CheckNoCapture(state, *context);
  if (captured != CUDA_SUCCESS) return captured;
  const CUresult unsafe = CheckUnsafeCall(state);
  if (unsafe != CUDA_SUCCESS) return unsafe;
  const CUresult result = WaitForContext(lock, *context);
  TrimPools(lock);
  return result;
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  if (handle == nullptr) return calls::cuCtxGetDevice(device);
  const StateLock lock(State::Get().mutex);
  const Context* context = State::Get().FindContext(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  *value = current.context->limits[limit];
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  current.context->limits[limit] = value;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  *config = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache) { return EnterContext().result; }

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
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

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  const Context* other = state.FindContext(peer);
  if (other == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (current.context->peers.erase(other->device) == 0) return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  RefreshPeerAccess(state, other->device);
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
