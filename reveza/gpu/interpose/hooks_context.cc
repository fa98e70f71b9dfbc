// Hooks of contexts: the first one starts the client; destroying one frees its memory.
#include <optional>
#include <vector>

#include "generated/interpose/driver_hooks.h"
#include "reveza/gpu/interpose/client.h"

namespace reveza::interpose::hooks {
namespace {

// Waits for admission before the first context of a device, since a context cannot be swapped.
// `exists`: the call only adds a reference to a context.
template <typename Make>
CUresult MakeContext(CUdevice device, CUcontext* context, bool exists, Make make) {
  Client* client = Client::Start();
  if (client == nullptr) return make();
  const bool first = client->AwaitAdmission(device);
  const std::optional<Bytes> further = exists ? 0 : client->ReserveFurtherContext(device);
  if (!further) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = make();
  const bool added = result == CUDA_SUCCESS && client->OnContextCreated(device, *context);
  if (first) client->OnFirstContext(device, result == CUDA_SUCCESS);
  if (*further == 0) return result;
  if (added) {
    client->counted().Add(*context, nullptr, {device, *further});
  } else {
    client->ReleasePinned(device, *further);
  }
  return result;
}

// Destroys `context` with `destroy`. What it held is counted until the driver has freed it.
template <typename Destroy>
CUresult DestroyContext(CUcontext context, Destroy destroy) {
  Client* client = Client::Get();
  if (client == nullptr || context == nullptr) return destroy();
  const std::vector<Counted> released = client->OnContextDestroy(context);
  const CUresult result = destroy();
  client->ReleasePinned(released);
  return result;
}

// Returns the primary context of `device` if it is active, without creating it.
CUcontext PrimaryIfActive(CUdevice device) {
  unsigned int flags = 0;
  int active = 0;
  CUcontext context = nullptr;
  if (Client::Get() == nullptr ||
      Real().cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || active == 0 ||
      Real().cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) {
    return nullptr;
  }
  Real().cuDevicePrimaryCtxRelease_v2(device);
  return context;
}

}  // namespace

CUresult cuCtxCreate(decltype(&::cuCtxCreate) real, CUcontext* pctx, unsigned int flags,
                     CUdevice dev) {
  return MakeContext(dev, pctx, false, [&] { return real(pctx, flags, dev); });
}

CUresult cuCtxCreate(decltype(&::cuCtxCreate_v3) real, CUcontext* pctx,
                     CUexecAffinityParam* paramsArray, int numParams, unsigned int flags,
                     CUdevice dev) {
  return MakeContext(dev, pctx, false,
                     [&] { return real(pctx, paramsArray, numParams, flags, dev); });
}

CUresult cuCtxCreate(decltype(&::cuCtxCreate_v4) real, CUcontext* pctx,
                     CUctxCreateParams* ctxCreateParams, unsigned int flags, CUdevice dev) {
  return MakeContext(dev, pctx, false, [&] { return real(pctx, ctxCreateParams, flags, dev); });
}

CUresult cuDevicePrimaryCtxRetain(decltype(&::cuDevicePrimaryCtxRetain) real, CUcontext* pctx,
                                  CUdevice dev) {
  return MakeContext(dev, pctx, PrimaryIfActive(dev) != nullptr, [&] { return real(pctx, dev); });
}

CUresult cuCtxDestroy(decltype(&::cuCtxDestroy) real, CUcontext ctx) {
  return DestroyContext(ctx, [&] { return real(ctx); });
}

CUresult cuCtxDetach(decltype(&::cuCtxDetach) real, CUcontext ctx) {
  return DestroyContext(ctx, [&] { return real(ctx); });
}

CUresult cuDevicePrimaryCtxReset(decltype(&::cuDevicePrimaryCtxReset) real, CUdevice dev) {
  return DestroyContext(PrimaryIfActive(dev), [&] { return real(dev); });
}

// Only the last release destroys the context, and only the driver counts references, so cleanup
// follows the release.
CUresult cuDevicePrimaryCtxRelease(decltype(&::cuDevicePrimaryCtxRelease) real, CUdevice dev) {
  Client* client = Client::Get();
  const CUcontext context = PrimaryIfActive(dev);
  if (client == nullptr || context == nullptr) return real(dev);
  return client->ReleasePrimary(dev, context, real);
}

}  // namespace reveza::interpose::hooks
