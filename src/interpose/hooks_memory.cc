// cuMemAlloc and its kin, answered from the ledger.
#include <algorithm>
#include <vector>

#include "interpose/client.h"
#include "interpose/counted.h"
#include "interpose/driver_hooks.h"
#include "interpose/gate_wait.h"
#include "interpose/serve.h"

namespace reveza::interpose::hooks {
namespace {

// The pitch that the driver chooses on all cards so far.
constexpr std::size_t kPitch = 512;

CUresult FreeNow(Client& client, CUdeviceptr address) {
  // What uses the memory was submitted before; after a drain nothing is left of it.
  CUresult synchronised = CUDA_SUCCESS;
  const swap::Residency residency = client.ledger().residency();
  if (residency == swap::Residency::kIn || residency == swap::Residency::kUnmanaged) {
    const bool none_captures =
        client.captures().WhileNone([&] { synchronised = Real().cuCtxSynchronize(); });
    if (!none_captures) {
      client.set_aside().Add(address);
      return CUDA_SUCCESS;
    }
  }
  const Served served = Serve(client, 0, [&] { return client.ledger().Free(address); });
  return served.result == CUDA_SUCCESS ? synchronised : served.result;
}

void FreeWhatWasSetAside(Client& client) {
  if (client.captures().Any()) return;
  for (const CUdeviceptr address : client.set_aside().TakeAll()) FreeNow(client, address);
}

// `--resident`: the driver's own allocation, counted. It rounds to its granularity.
CUresult AllocateResident(Client& client, int ordinal, decltype(&::cuMemAlloc_v2) real,
                          CUdeviceptr* address, std::size_t size) {
  const Bytes counted = RoundUp(size, swap::kGranularity);
  if (client.ReservePinned(ordinal, counted) == Answer::kRefused) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const CUresult result = real(address, size);
  if (result != CUDA_SUCCESS) client.ReleasePinned(ordinal, counted);
  return result;
}

CUresult Allocate(Client& client, CUdeviceptr* address, std::size_t size,
                  decltype(&::cuMemAlloc_v2) real) {
  int ordinal = 0;
  CUcontext context = nullptr;
  if (!CurrentDevice(&ordinal, &context) || size == 0 || address == nullptr) {
    return real(address, size);  // the driver has the right error
  }
  if (client.resident()) return AllocateResident(client, ordinal, real, address, size);
  FreeWhatWasSetAside(client);
  const Served served = Serve(
      client, ordinal, [&] { return client.ledger().Allocate(ordinal, context, size, address); });
  return served.ours ? served.result : real(address, size);
}

}  // namespace

CUresult cuMemAlloc(decltype(&::cuMemAlloc_v2) real, CUdeviceptr* dptr, size_t bytesize) {
  Client* client = Client::Get();
  return client == nullptr ? real(dptr, bytesize) : Allocate(*client, dptr, bytesize, real);
}

CUresult cuMemAllocPitch(decltype(&::cuMemAllocPitch_v2) real, CUdeviceptr* dptr, size_t* pPitch,
                         size_t WidthInBytes, size_t Height, unsigned int ElementSizeBytes) {
  Client* client = Client::Get();
  const bool plain = client != nullptr && !client->resident() && dptr != nullptr &&
                     pPitch != nullptr && WidthInBytes > 0 && Height > 0 &&
                     (ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16);
  std::size_t size = 0;
  const std::size_t pitch = RoundUp(WidthInBytes, kPitch);
  if (!plain || __builtin_mul_overflow(pitch, Height, &size)) {
    return real(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
  }
  const CUresult result = Allocate(*client, dptr, size, Real().cuMemAlloc_v2);
  if (result == CUDA_SUCCESS) *pPitch = pitch;
  return result;
}

CUresult cuMemFree(decltype(&::cuMemFree_v2) real, CUdeviceptr dptr) {
  Client* client = Client::Get();
  if (client == nullptr || dptr == 0) return real(dptr);
  swap::Place place;
  if (!client->ledger().Find(dptr, &place)) {
    CUdeviceptr base = 0;
    std::size_t size = 0;
    const bool counted =
        client->resident() && Real().cuMemGetAddressRange_v2(&base, &size, dptr) == CUDA_SUCCESS;
    CUdevice device = 0;
    Real().cuCtxGetDevice(&device);
    const CUresult result = real(dptr);
    if (result == CUDA_SUCCESS) ForgetManaged(dptr);
    if (result == CUDA_SUCCESS && counted) {
      client->ReleasePinned(device, RoundUp(size, swap::kGranularity));
    }
    return result;
  }
  if (place.kind == swap::Block::Kind::kHandle || place.base != dptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  FreeWhatWasSetAside(*client);
  return FreeNow(*client, dptr);
}

CUresult cuMemGetInfo(decltype(&::cuMemGetInfo_v2) real, size_t* free, size_t* total) {
  std::size_t real_free = 0, real_total = 0;
  // The driver takes a null for what the program does not want to know.
  const CUresult result = real(&real_free, &real_total);
  if (result == CUDA_SUCCESS && free != nullptr) *free = real_free;
  if (result == CUDA_SUCCESS && total != nullptr) *total = real_total;
  Client* client = Client::Get();
  int ordinal = 0;
  CUcontext context = nullptr;
  if (result != CUDA_SUCCESS || client == nullptr || !CurrentDevice(&ordinal, &context) ||
      !client->ledger().HasDevice(ordinal)) {
    return result;
  }
  // As if this program were alone on the card: some programs stop when free memory grows.
  const Bytes budget = client->ledger().Budget(ordinal);
  const Bytes need = client->ledger().GetBooks(ordinal).Need();
  const Bytes whole = Client::EmulatedTotal(real_total);
  if (total != nullptr) *total = whole;
  if (free != nullptr) *free = budget > need ? std::min<Bytes>(budget - need, whole) : 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(decltype(&::cuDeviceTotalMem_v2) real, size_t* bytes, CUdevice dev) {
  const CUresult result = real(bytes, dev);
  if (result == CUDA_SUCCESS) *bytes = Client::EmulatedTotal(*bytes);
  return result;
}

CUresult cuMemGetAddressRange(decltype(&::cuMemGetAddressRange_v2) real, CUdeviceptr* pbase,
                              size_t* psize, CUdeviceptr dptr) {
  Client* client = Client::Get();
  swap::Place place;
  if (client == nullptr) return real(pbase, psize, dptr);
  if (!client->ledger().Find(dptr, &place)) {
    return real(pbase, psize, ForTheDriver(*client, dptr));
  }
  if (pbase != nullptr) *pbase = place.base;
  if (psize != nullptr) *psize = place.size;
  return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(decltype(&::cuIpcGetMemHandle) real, CUipcMemHandle* pHandle,
                           CUdeviceptr dptr) {
  Client* client = Client::Get();
  swap::Place place;
  if (client == nullptr || !client->ledger().Find(dptr, &place)) return real(pHandle, dptr);
  Say("cuIpcGetMemHandle needs memory that never moves: start the program with"
      " `reveza run --resident`");
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace reveza::interpose::hooks
