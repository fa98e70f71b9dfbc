// Hooks of stream-ordered allocation. Memory of most pools is the ledger's (stream_pools.h); that
// of the others, and of graphs, is the driver's and counted.
#include <algorithm>
#include <optional>
#include <span>

#include "generated/interpose/driver_hooks.h"
#include "reveza/gpu/interpose/captures.h"
#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/interpose/counted.h"
#include "reveza/gpu/interpose/serve.h"

namespace reveza::interpose::hooks {
namespace {

// Makes the context of a stream current; that of the legacy and per-thread streams is already.
class StreamContext {
 public:
  StreamContext(Client& client, CUstream stream)
      : context_(ContextOf(stream)), current_(client.swap_driver(), context_.value_or(nullptr)) {}

  // The stream is one that the driver knows.
  bool is_known() const { return context_.has_value(); }

 private:
  static std::optional<CUcontext> ContextOf(CUstream stream) {
    if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
      return nullptr;
    }
    CUcontext context = nullptr;
    if (Real().cuStreamGetCtx(stream, &context) != CUDA_SUCCESS) return std::nullopt;
    return context;
  }

  const std::optional<CUcontext> context_;
  const swap::CurrentContext current_;
};

StreamIdentity IdentityOf(CUstream stream, StreamKind kind) {
  CUcontext context = nullptr;
  Real().cuCtxGetCurrent(&context);
  return StreamIdentity::Of(stream, kind, context);
}

// Allocates from a pool that the driver serves (null: the current one of `ordinal`). If the pool
// must grow, credit for the minimum growth is obtained first. During a capture a memory node is
// made instead.
template <typename Allocate>
CUresult FromDriver(Client& client, CUmemoryPool pool, int device, Bytes bytes, CUstream stream,
                    StreamKind kind, Allocate allocate) {
  GateScope gate(stream, kind);
  PoolAccounts& pools = client.pools();
  if (pool != nullptr) pools.Add(pool, device);
  const int ordinal = pools.DeviceOf(pool).value_or(device);
  if (client.captures().Any()) pools.AddGraphMemory(ordinal);
  const Bytes reserved = PoolBytes(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
  const Bytes used = PoolBytes(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
  if (reserved - std::min(reserved, used) < bytes && !client.captures().Any()) {
    const Bytes growth = RoundUp(bytes, swap::kGranularity);
    if (!client.ReservePinned(ordinal, growth)) return CUDA_ERROR_OUT_OF_MEMORY;
    client.ReleasePinned(ordinal, growth);  // stays spare credit until Settle()
  }
  const CUresult result = allocate();
  pools.Settle(client.ledger(), pool);
  client.UsageChanged();
  return result;
}

// Allocates from a pool that the ledger serves.
template <typename DriverCall>
CUresult FromLedger(Client& client, const void* pool, Bytes bytes, const StreamIdentity& stream,
                    CUdeviceptr* address, DriverCall driver) {
  using Take = StreamPools::Take;
  StreamPools& pools = client.stream_pools();
  const int ordinal = StreamPools::OrdinalOf(pool);
  if (const CUresult refusal = Refusal(); refusal != CUDA_SUCCESS) return refusal;
  if (bytes > client.ledger().Budget(ordinal) && !client.larger_than_card()) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  CUdeviceptr kept = pools.Reuse(pool, bytes, stream, Take::kReady);
  CUdeviceptr made = 0;
  if (kept == 0) pools.MakeRoom(pool, bytes);
  RoomForAllocation room(client, ordinal);
  const CUresult result = Serve(
      client, ordinal,
      [&] {
        return kept != 0 ? swap::Reply{}
                         : client.ledger().Allocate(ordinal, nullptr, bytes, &made, pool);
      },
      driver,
      [&] {
        if (pools.ReleaseIdle(ordinal)) return true;
        kept = pools.Reuse(pool, bytes, stream, Take::kAfterWait);
        return kept != 0 || room();
      });
  if (result != CUDA_SUCCESS) return result;
  if (kept != 0) *address = kept;
  swap::AddressInfo info;
  if (made != 0 && client.ledger().Find(made, &info)) {
    pools.OnAllocated(pool, bytes, info.reserved);
    *address = made;
  }
  return CUDA_SUCCESS;
}

// `pool`: null for the current one of the stream's device.
template <typename Allocate>
CUresult FromPool(CUmemoryPool pool, CUdeviceptr* address, Bytes bytes, CUstream stream,
                  StreamKind kind, Allocate allocate) {
  Client* client = Client::Get();
  if (client == nullptr || address == nullptr || bytes == 0) return allocate();
  const StreamContext context(*client, stream);
  const auto current = context.is_known() ? CountedCurrent(client) : std::nullopt;
  if (!current) return allocate();
  if (pool == nullptr && Real().cuDeviceGetMemPool != nullptr) {
    const RelaxedCapture relaxed;
    Real().cuDeviceGetMemPool(&pool, current->device);
  }
  const auto from_driver = [&] {
    return FromDriver(*client, pool, current->device, bytes, stream, kind, allocate);
  };
  const bool captured =
      client->captures().Any() && CaptureStatus(stream, kind) != CU_STREAM_CAPTURE_STATUS_NONE;
  const void* served =
      client->resident() || captured ? nullptr : client->stream_pools().Find(pool, current->device);
  if (served == nullptr) return from_driver();
  return FromLedger(*client, served, bytes, IdentityOf(stream, kind), address, from_driver);
}

CUresult Synchronised(CUresult result) {
  Client* client = Client::Get();
  if (client != nullptr && result == CUDA_SUCCESS && client->stream_pools().OnSynchronised()) {
    client->UsageChanged();
  }
  return result;
}

}  // namespace

CUresult cuMemAllocAsync(decltype(&::cuMemAllocAsync) real, CUdeviceptr* dptr, size_t bytesize,
                         CUstream hStream, StreamKind kind) {
  return FromPool(nullptr, dptr, bytesize, hStream, kind,
                  [&] { return real(dptr, bytesize, hStream); });
}

CUresult cuMemAllocFromPoolAsync(decltype(&::cuMemAllocFromPoolAsync) real, CUdeviceptr* dptr,
                                 size_t bytesize, CUmemoryPool pool, CUstream hStream,
                                 StreamKind kind) {
  const auto allocate = [&] { return real(dptr, bytesize, pool, hStream); };
  return pool == nullptr ? allocate() : FromPool(pool, dptr, bytesize, hStream, kind, allocate);
}

CUresult cuMemFreeAsync(decltype(&::cuMemFreeAsync) real, CUdeviceptr dptr, CUstream hStream,
                        StreamKind kind) {
  Client* client = Client::Get();
  const auto free = [&] { return real(dptr, hStream); };
  swap::AddressInfo info;
  if (client == nullptr) return free();
  if (!client->ledger().Find(dptr, &info)) {
    GateScope gate(hStream, kind);
    return FreeResident(*client, dptr, free);
  }
  const StreamContext context(*client, hStream);
  // In a capture only memory of the graph can be freed; the driver does not know ours.
  const bool captured = client->captures().Any() &&
                        CaptureStatus(hStream, kind).value_or(CU_STREAM_CAPTURE_STATUS_NONE) !=
                            CU_STREAM_CAPTURE_STATUS_NONE;
  if (captured || !context.is_known()) return free();
  if (info.pool == nullptr) {
    // The driver allows it for cuMemAlloc memory.
    return Real().cuMemFree_v2 == nullptr ? CUDA_ERROR_NOT_SUPPORTED
                                          : hooks::cuMemFree(Real().cuMemFree_v2, dptr);
  }
  if (const CUresult refusal = Refusal(); refusal != CUDA_SUCCESS) return refusal;
  if (info.base != dptr) return CUDA_ERROR_INVALID_VALUE;
  return client->stream_pools().FreeAsync(dptr, info, IdentityOf(hStream, kind));
}

// ---- pools ----

CUresult cuMemPoolCreate(decltype(&::cuMemPoolCreate) real, CUmemoryPool* pool,
                         const CUmemPoolProps* poolProps) {
  const CUresult result = real(pool, poolProps);
  Client* client = Client::Get();
  if (result == CUDA_SUCCESS && client != nullptr &&
      poolProps->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    client->pools().Add(*pool, poolProps->location.id);
    client->stream_pools().OnCreated(*pool, *poolProps);
  }
  return result;
}

CUresult cuMemPoolDestroy(decltype(&::cuMemPoolDestroy) real, CUmemoryPool pool) {
  Client* client = Client::Get();
  if (client == nullptr) return real(pool);
  const CUresult result = client->pools().Destroy(client->ledger(), pool, real);
  if (result == CUDA_SUCCESS && pool != nullptr) client->stream_pools().OnDestroyed(pool);
  client->UsageChanged();
  return result;
}

CUresult cuMemPoolTrimTo(decltype(&::cuMemPoolTrimTo) real, CUmemoryPool pool,
                         size_t minBytesToKeep) {
  const CUresult result = real(pool, minBytesToKeep);
  if (Client* client = Client::Get(); client != nullptr && pool != nullptr) {
    if (result == CUDA_SUCCESS) client->stream_pools().TrimTo(pool, minBytesToKeep);
    client->pools().Settle(client->ledger(), pool);
    client->UsageChanged();
  }
  return result;
}

CUresult cuMemPoolSetAttribute(decltype(&::cuMemPoolSetAttribute) real, CUmemoryPool pool,
                               CUmemPool_attribute attr, void* value) {
  const CUresult result = real(pool, attr, value);
  if (Client* client = Client::Get(); client != nullptr && result == CUDA_SUCCESS) {
    client->stream_pools().OnAttributeSet(pool, attr, value);
  }
  return result;
}

CUresult cuMemPoolGetAttribute(decltype(&::cuMemPoolGetAttribute) real, CUmemoryPool pool,
                               CUmemPool_attribute attr, void* value) {
  const CUresult result = real(pool, attr, value);
  Client* client = Client::Get();
  if (result != CUDA_SUCCESS || client == nullptr) return result;
  if (const Bytes more = client->stream_pools().Attribute(pool, attr)) {
    *static_cast<cuuint64_t*>(value) += more;
  }
  return result;
}

CUresult cuMemPoolSetAccess(decltype(&::cuMemPoolSetAccess) real, CUmemoryPool pool,
                            const CUmemAccessDesc* map, size_t count) {
  const CUresult result = real(pool, map, count);
  Client* client = Client::Get();
  if (result != CUDA_SUCCESS || client == nullptr || map == nullptr) return result;
  for (const CUmemAccessDesc& one : std::span(map, count)) {
    if (one.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        one.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
      continue;
    }
    client->SetPoolAccess(pool, one.location.id);
  }
  return result;
}

// ---- synchronisation: pools give back what they keep beyond their release threshold ----

CUresult cuCtxSynchronize(decltype(&::cuCtxSynchronize) real) { return Synchronised(real()); }

CUresult cuCtxSynchronize(decltype(&::cuCtxSynchronize_v2) real, CUcontext ctx) {
  return Synchronised(real(ctx));
}

CUresult cuStreamSynchronize(decltype(&::cuStreamSynchronize) real, CUstream hStream,
                             StreamKind /*kind*/) {
  return Synchronised(real(hStream));
}

CUresult cuEventSynchronize(decltype(&::cuEventSynchronize) real, CUevent hEvent) {
  return Synchronised(real(hEvent));
}

}  // namespace reveza::interpose::hooks
