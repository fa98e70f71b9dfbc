// Contexts: where a client begins, and where memory ends that nobody freed.
#include "interpose/client.h"
#include "interpose/driver_hooks.h"

namespace reveza::interpose::hooks {
namespace {

// Admission comes before the first context of a device: a context is memory that cannot move.
template <typename Make>
CUresult MakeContext(CUdevice device, CUcontext* context, Make make) {
  Client* client = Client::Start();
  if (client == nullptr) return make();
  client->BeforeContext(device);
  const CUresult result = make();
  client->AfterContext(device, result == CUDA_SUCCESS ? *context : nullptr);
  return result;
}

void Ends(CUcontext context) {
  Client* client = Client::Get();
  if (client != nullptr && context != nullptr) client->ContextEnds(context);
}

// The primary context of `device` if it exists, without making it.
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
  return MakeContext(dev, pctx, [&] { return real(pctx, flags, dev); });
}

CUresult cuCtxCreate(decltype(&::cuCtxCreate_v3) real, CUcontext* pctx,
                     CUexecAffinityParam* paramsArray, int numParams, unsigned int flags,
                     CUdevice dev) {
  return MakeContext(dev, pctx, [&] { return real(pctx, paramsArray, numParams, flags, dev); });
}

CUresult cuCtxCreate(decltype(&::cuCtxCreate_v4) real, CUcontext* pctx,
                     CUctxCreateParams* ctxCreateParams, unsigned int flags, CUdevice dev) {
  return MakeContext(dev, pctx, [&] { return real(pctx, ctxCreateParams, flags, dev); });
}

CUresult cuDevicePrimaryCtxRetain(decltype(&::cuDevicePrimaryCtxRetain) real, CUcontext* pctx,
                                  CUdevice dev) {
  return MakeContext(dev, pctx, [&] { return real(pctx, dev); });
}

CUresult cuCtxDestroy(decltype(&::cuCtxDestroy) real, CUcontext ctx) {
  Ends(ctx);
  return real(ctx);
}

CUresult cuCtxDetach(decltype(&::cuCtxDetach) real, CUcontext ctx) {
  Ends(ctx);
  return real(ctx);
}

CUresult cuDevicePrimaryCtxReset(decltype(&::cuDevicePrimaryCtxReset) real, CUdevice dev) {
  Ends(PrimaryIfActive(dev));
  return real(dev);
}

// Only the last release ends the context, and only the driver counts: it is released first, and
// what was in it is forgotten if it is gone.
CUresult cuDevicePrimaryCtxRelease(decltype(&::cuDevicePrimaryCtxRelease) real, CUdevice dev) {
  Client* client = Client::Get();
  const CUcontext context = PrimaryIfActive(dev);
  if (client == nullptr || context == nullptr) return real(dev);
  return client->ReleasePrimary(dev, context, real);
}

}  // namespace reveza::interpose::hooks
