// Hooks of contexts: the first one starts the client; destroying one frees its memory.
#include <optional>

#include "generated/interpose/driver_hooks.h"
#include "reveza/gpu/interpose/client.h"

namespace reveza::interpose::hooks {
namespace {

enum class ContextKind {
  kOwn,
  kPrimary,
  kActivePrimary,  // the call only adds a reference to it
};

// Waits for admission before the first context of a device, since a context cannot be swapped.
template <typename Make>
CUresult MakeContext(CUdevice device, CUcontext* context, ContextKind kind, Make make) {
  Client* client = Client::Start();
  if (client == nullptr) return make();
  const Admission admission = client->AwaitAdmission(device);
  if (admission == Admission::kRefused) return CUDA_ERROR_OUT_OF_MEMORY;
  const bool first = admission == Admission::kFirst;
  const bool adds = !first && kind != ContextKind::kActivePrimary;
  const std::optional<Bytes> further = adds ? client->ReserveFurtherContext(device) : 0;
  const CUresult result = further ? make() : CUDA_ERROR_OUT_OF_MEMORY;
  const bool counts = result == CUDA_SUCCESS &&
                      client->OnContextCreated(device, *context, kind != ContextKind::kOwn);
  if (further.value_or(0) > 0) {
    if (counts) {
      client->counted().Add(*context, nullptr, {device, *further});
    } else {
      client->ReleasePinned(device, *further);
    }
  }
  if (first) {
    client->OnFirstContext(device, result == CUDA_SUCCESS);
  } else {
    client->OnFurtherContext(device);
  }
  return result;
}

// Ends a context with `end`, a call of the driver. `synchronise`: waits for its work before.
// `ended` says after the call whether it was the last reference.
template <typename End, typename Ended>
CUresult EndContext(CUcontext context, bool synchronise, End end, Ended ended) {
  Client* client = Client::Get();
  if (client == nullptr || context == nullptr) return end();
  const std::optional<int> ordinal = client->BeginContextEnd(context, synchronise);
  const CUresult result = end();
  client->FinishContextEnd(ordinal, context, result == CUDA_SUCCESS && ended());
  return result;
}

bool Always() { return true; }

bool IsPrimaryActive(CUdevice device) {
  unsigned int flags = 0;
  int active = 0;
  return Real().cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

// Returns the primary context of `device` if it is active, without creating it.
CUcontext PrimaryIfActive(CUdevice device) {
  CUcontext context = nullptr;
  if (Client::Get() == nullptr || !IsPrimaryActive(device) ||
      Real().cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) {
    return nullptr;
  }
  Real().cuDevicePrimaryCtxRelease_v2(device);
  return context;
}

ContextKind PrimaryKind(CUdevice device) {
  return IsPrimaryActive(device) ? ContextKind::kActivePrimary : ContextKind::kPrimary;
}

// Returns the device of a green context.
CUdevice DeviceOfGreen(const Client& client, CUgreenCtx green) {
  CUcontext context = nullptr;
  CUdevice device = 0;
  if (Real().cuCtxFromGreenCtx(&context, green) != CUDA_SUCCESS) return 0;
  const swap::CurrentContext current(client.swap_driver(), context);
  Real().cuCtxGetDevice(&device);
  return device;
}

}  // namespace

CUresult cuCtxCreate(decltype(&::cuCtxCreate) real, CUcontext* pctx, unsigned int flags,
                     CUdevice dev) {
  return MakeContext(dev, pctx, ContextKind::kOwn, [&] { return real(pctx, flags, dev); });
}

CUresult cuCtxCreate(decltype(&::cuCtxCreate_v3) real, CUcontext* pctx,
                     CUexecAffinityParam* paramsArray, int numParams, unsigned int flags,
                     CUdevice dev) {
  return MakeContext(dev, pctx, ContextKind::kOwn,
                     [&] { return real(pctx, paramsArray, numParams, flags, dev); });
}

CUresult cuCtxCreate(decltype(&::cuCtxCreate_v4) real, CUcontext* pctx,
                     CUctxCreateParams* ctxCreateParams, unsigned int flags, CUdevice dev) {
  return MakeContext(dev, pctx, ContextKind::kOwn,
                     [&] { return real(pctx, ctxCreateParams, flags, dev); });
}

CUresult cuDevicePrimaryCtxRetain(decltype(&::cuDevicePrimaryCtxRetain) real, CUcontext* pctx,
                                  CUdevice dev) {
  return MakeContext(dev, pctx, PrimaryKind(dev), [&] { return real(pctx, dev); });
}

CUresult cuCtxDestroy(decltype(&::cuCtxDestroy) real, CUcontext ctx) {
  return EndContext(ctx, true, [&] { return real(ctx); }, Always);
}

CUresult cuCtxAttach(decltype(&::cuCtxAttach) real, CUcontext* pctx, unsigned int flags) {
  const CUresult result = real(pctx, flags);
  Client* client = Client::Get();
  if (result == CUDA_SUCCESS && client != nullptr) client->contexts().AddReference(*pctx);
  return result;
}

CUresult cuCtxDetach(decltype(&::cuCtxDetach) real, CUcontext ctx) {
  Client* client = Client::Get();
  if (client == nullptr || !client->contexts().RemoveReference(ctx)) {
    return EndContext(ctx, true, [&] { return real(ctx); }, Always);
  }
  const CUresult result = real(ctx);
  if (result != CUDA_SUCCESS) client->contexts().AddReference(ctx);
  return result;
}

CUresult cuDevicePrimaryCtxReset(decltype(&::cuDevicePrimaryCtxReset) real, CUdevice dev) {
  return EndContext(PrimaryIfActive(dev), true, [&] { return real(dev); }, Always);
}

// Only the driver counts the references.
CUresult cuDevicePrimaryCtxRelease(decltype(&::cuDevicePrimaryCtxRelease) real, CUdevice dev) {
  return EndContext(
      PrimaryIfActive(dev), false, [&] { return real(dev); },
      [&] { return !IsPrimaryActive(dev); });
}

// A green context keeps the primary context of its device, which owns what is made in it.
CUresult cuGreenCtxCreate(decltype(&::cuGreenCtxCreate) real, CUgreenCtx* phCtx,
                          CUdevResourceDesc desc, CUdevice dev, unsigned int flags) {
  CUcontext primary = nullptr;
  return MakeContext(dev, &primary, PrimaryKind(dev), [&] {
    const CUresult result = real(phCtx, desc, dev, flags);
    if (result == CUDA_SUCCESS) primary = PrimaryIfActive(dev);
    return result;
  });
}

CUresult cuGreenCtxDestroy(decltype(&::cuGreenCtxDestroy) real, CUgreenCtx hCtx) {
  const Client* client = Client::Get();
  if (client == nullptr || hCtx == nullptr) return real(hCtx);
  const CUdevice device = DeviceOfGreen(*client, hCtx);
  return EndContext(
      PrimaryIfActive(device), false, [&] { return real(hCtx); },
      [&] { return !IsPrimaryActive(device); });
}

}  // namespace reveza::interpose::hooks
