// Hooks of the cuMemAlloc family, answered by the ledger.
#include <algorithm>
#include <vector>

#include "generated/interpose/driver_hooks.h"
#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/interpose/counted.h"
#include "reveza/gpu/interpose/serve.h"

namespace reveza::interpose::hooks {
namespace {

// The driver's pitch alignment on all GPUs so far.
constexpr std::size_t kPitch = 512;

CUresult FreeNow(Client& client, CUdeviceptr address, const swap::AddressInfo& info) {
  // Users of the memory were submitted before, to any stream of a device with access. While swapped
  // out, the GPUs are drained already.
  CUresult synchronised = CUDA_SUCCESS;
  const swap::Residency residency = client.ledger().residency();
  if (residency == swap::Residency::kIn || residency == swap::Residency::kUnmanaged) {
    const Contexts::Held users = client.HoldContexts(client.ledger().DevicesWithAccess(address));
    // The driver would not wait for the work of other contexts, which may wait for the host.
    CUcontext current = nullptr;
    Real().cuCtxGetCurrent(&current);
    std::optional<CUresult> result;
    if (!client.host_waits().Pending(HostWaits::Kind::kValue, current)) {
      result = client.Synchronise(users, info.owner);
    }
    if (!result) {
      return client.deferred_frees().Add(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    synchronised = *result;
  }
  const CUresult freed = Serve(client, 0, [&] { return client.ledger().Free(address); });
  if (freed == CUDA_SUCCESS) client.stream_pools().OnFreed(info);
  return freed == CUDA_SUCCESS ? synchronised : freed;
}

void RunDeferredFrees(Client& client) {
  // A program that allocates before it ends a wait must not be blocked by the GPU.
  if (client.captures().Any() || client.host_waits().Pending(HostWaits::Kind::kValue)) return;
  for (const CUdeviceptr address : client.deferred_frees().TakeAll()) {
    swap::AddressInfo info;
    if (client.ledger().Find(address, &info)) FreeNow(client, address, info);
  }
}

// `--resident`: allocated by the driver with `allocate` and counted. `size` is what it will take.
template <typename MakeCall>
CUresult AllocateResident(Client& client, const Current& current, CUdeviceptr* address,
                          std::size_t size, MakeCall allocate) {
  if (!client.ledger().HasDevice(current.device)) return allocate();
  ResidentAllocations& allocations = client.resident_allocations();
  const bool shares = allocations.HasRoom(current.device, size);
  const Bytes reserved = shares ? 0 : RoundUp(size, swap::kGranularity);
  if (!client.ReservePinned(current.device, reserved)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = allocate();
  const Bytes taken =
      result == CUDA_SUCCESS ? allocations.Add(current.device, current.context, *address, size) : 0;
  client.CorrectPinned(current.device, reserved, taken);
  return result;
}

CUresult Allocate(Client& client, CUdeviceptr* address, std::size_t size,
                  decltype(&::cuMemAlloc_v2) real) {
  const auto current = CurrentDevice();
  if (!current || size == 0 || address == nullptr) {
    return real(address, size);  // for the driver's error code
  }
  if (const CUresult refusal = Refusal(); refusal != CUDA_SUCCESS) return refusal;
  const int ordinal = current->device;
  if (client.resident()) {
    return AllocateResident(client, *current, address, size, [&] { return real(address, size); });
  }
  RunDeferredFrees(client);
  return Serve(
      client, ordinal,
      [&] { return client.ledger().Allocate(ordinal, current->context, size, address); },
      [&] { return real(address, size); }, RoomForAllocation(client, ordinal));
}

}  // namespace

CUresult cuMemAlloc(decltype(&::cuMemAlloc_v2) real, CUdeviceptr* dptr, size_t bytesize) {
  Client* client = Client::Get();
  return client == nullptr ? real(dptr, bytesize) : Allocate(*client, dptr, bytesize, real);
}

CUresult cuMemAllocPitch(decltype(&::cuMemAllocPitch_v2) real, CUdeviceptr* dptr, size_t* pPitch,
                         size_t WidthInBytes, size_t Height, unsigned int ElementSizeBytes) {
  Client* client = Client::Get();
  const bool plain = client != nullptr && dptr != nullptr && pPitch != nullptr &&
                     WidthInBytes > 0 && Height > 0 &&
                     (ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16);
  std::size_t size = 0;
  const std::size_t pitch = RoundUp(WidthInBytes, kPitch);
  if (!plain || __builtin_mul_overflow(pitch, Height, &size)) {
    return real(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
  }
  if (client->resident()) {
    const auto current = CurrentDevice();
    const auto allocate = [&] {
      return real(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes);
    };
    return current ? AllocateResident(*client, *current, dptr, size, allocate) : allocate();
  }
  const CUresult result = Allocate(*client, dptr, size, Real().cuMemAlloc_v2);
  if (result == CUDA_SUCCESS) *pPitch = pitch;
  return result;
}

CUresult cuMemFree(decltype(&::cuMemFree_v2) real, CUdeviceptr dptr) {
  Client* client = Client::Get();
  if (client == nullptr || dptr == 0) return real(dptr);
  RunDeferredFrees(*client);
  swap::AddressInfo info;
  if (!client->ledger().Find(dptr, &info)) {
    return FreeCounted(*client, dptr, real);
  }
  if (const CUresult refusal = Refusal(); refusal != CUDA_SUCCESS) return refusal;
  if (info.kind == swap::Block::Kind::kHandle || info.base != dptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return FreeNow(*client, dptr, info);
}

CUresult cuMemGetInfo(decltype(&::cuMemGetInfo_v2) real, size_t* free, size_t* total) {
  std::size_t real_free = 0, real_total = 0;
  // The driver accepts null pointers.
  const CUresult result = real(&real_free, &real_total);
  if (result == CUDA_SUCCESS && free != nullptr) *free = real_free;
  if (result == CUDA_SUCCESS && total != nullptr) *total = real_total;
  Client* client = Client::Get();
  const auto current = result == CUDA_SUCCESS && client != nullptr ? CurrentDevice() : std::nullopt;
  if (!current || !client->ledger().HasDevice(current->device)) return result;
  if (client->pools().SettleAll(client->ledger())) client->UsageChanged();
  // As if this program were alone on the GPU: some programs abort when free memory grows.
  const Bytes budget = client->ledger().Budget(current->device);
  const Bytes need = client->ledger().GetUsage(current->device).Need();
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
  swap::AddressInfo info;
  if (client == nullptr) return real(pbase, psize, dptr);
  int ordinal = 0;
  if (!client->ledger().Find(dptr, &info) &&
      !client->imported_memory().Find(dptr, &info.base, &info.size, &ordinal)) {
    return real(pbase, psize, DriverQueryAddress(*client, dptr));
  }
  // It does not know memory that is swapped out, but refuses without a context first.
  CUdeviceptr none = 0;
  const CUresult refusal = real(&none, nullptr, 0);
  if (refusal == CUDA_ERROR_INVALID_CONTEXT || refusal == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
    return refusal;
  }
  if (pbase != nullptr) *pbase = info.base;
  if (psize != nullptr) *psize = info.size;
  return CUDA_SUCCESS;
}

}  // namespace reveza::interpose::hooks
