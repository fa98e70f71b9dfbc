// Primary contexts.
#include "calls.h"
#include "context.h"

namespace fakecuda::calls {

CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (device < 0 || device >= state.card->devices()) return CUDA_ERROR_INVALID_DEVICE;
  Primary& primary = state.primaries[static_cast<std::size_t>(device)];
  if (primary.context == nullptr) {
    const CUresult result = MakeContext(state, device, primary.flags, &primary.context);
    if (result != CUDA_SUCCESS) return result;
    primary.context->primary = true;
    primary.context->version = 3020;
  }
  ++primary.references;
  *handle = primary.context->handle;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  State& state = State::Get();
  StateLock lock(state.mutex);
  if (device < 0 || device >= state.card->devices()) return CUDA_ERROR_INVALID_DEVICE;
  Primary& primary = state.primaries[static_cast<std::size_t>(device)];
  const std::shared_ptr<Context> context = std::move(primary.context);
  primary.context = nullptr;
  primary.references = 0;
  if (context != nullptr) DestroyContext(lock, context);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return calls::cuDevicePrimaryCtxReset_v2(device);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  State& state = State::Get();
  {
    const StateLock lock(state.mutex);
    if (device < 0 || device >= state.card->devices()) return CUDA_ERROR_INVALID_DEVICE;
    Primary& primary = state.primaries[static_cast<std::size_t>(device)];
    if (primary.references == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary.references > 0) return CUDA_SUCCESS;
  }
  return calls::cuDevicePrimaryCtxReset_v2(device);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return calls::cuDevicePrimaryCtxRelease_v2(device);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (device < 0 || device >= state.card->devices()) return CUDA_ERROR_INVALID_DEVICE;
  Primary& primary = state.primaries[static_cast<std::size_t>(device)];
  primary.flags = flags;
  if (primary.context != nullptr) primary.context->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  return calls::cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (device < 0 || device >= state.card->devices()) return CUDA_ERROR_INVALID_DEVICE;
  const Primary& primary = state.primaries[static_cast<std::size_t>(device)];
  if (flags != nullptr) *flags = primary.flags;
  if (active != nullptr) *active = primary.context != nullptr ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace fakecuda::calls
