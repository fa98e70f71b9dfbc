// Runs a ledger operation to completion: waits for credit, for a handover, or for other processes
// to release memory. This is the only place where memory calls of the application block.
// Thread-safe.
#pragma once

#include <unistd.h>

#include <optional>
#include <utility>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/captures.h"
#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/interpose/gate_wait.h"
#include "reveza/gpu/swap/ledger.h"

namespace reveza::interpose {

// Calls `operation`, which returns a swap::Reply, until the reply is final. If the memory is not
// ours, returns the result of `driver`. Before it fails with "out of memory", it calls `make_room`,
// and tries again if that returns true.
template <typename Operation, typename DriverCall, typename MakeRoom>
CUresult Serve(Client& client, int ordinal, Operation operation, DriverCall driver,
               MakeRoom make_room) {
  constexpr int kMaxRetries = 5000;  // of 2 ms: ten seconds
  int retries = 0;
  Bytes promised = 0;
  for (;;) {
    const swap::Reply reply = [&] {
      const RelaxedCapture relaxed;  // the program did not make the calls that serve this one
      return operation();
    }();
    client.ledger().Fulfil(ordinal, std::exchange(promised, 0));
    switch (reply.outcome) {
      case swap::Outcome::kDone:
        client.UsageChanged();
        return CUDA_SUCCESS;
      case swap::Outcome::kForeign:
        return driver();
      case swap::Outcome::kFailed:
        if (reply.error == CUDA_ERROR_OUT_OF_MEMORY && make_room()) break;
        return reply.error;
      case swap::Outcome::kNeedCredit:
        if (client.RequestGrowth(ordinal, wire::GrowthKind::kSwappable, reply.needed, &promised) ==
                wire::Growth::kRefused &&
            !make_room()) {
          return CUDA_ERROR_OUT_OF_MEMORY;
        }
        break;
      case swap::Outcome::kWait: {
        if (client.ledger().residency() == swap::Residency::kOut) {
          const GateScope wait_for_the_gate;
          break;
        }
        GatePause pause;
        client.ledger().WaitForChange(100'000);
        break;
      }
      case swap::Outcome::kRetry: {
        if (client.stream_pools().ReleaseIdle(ordinal)) break;
        if (++retries > kMaxRetries) return reply.error;
        GatePause pause;
        usleep(2000);
        break;
      }
    }
  }
}

template <typename Operation, typename DriverCall>
CUresult Serve(Client& client, int ordinal, Operation operation, DriverCall driver) {
  return Serve(client, ordinal, operation, driver,
               [&] { return client.ReleaseKeptMemory(ordinal); });
}

// The same for memory that is known to be ours.
template <typename Operation>
CUresult Serve(Client& client, int ordinal, Operation operation) {
  return Serve(client, ordinal, operation, [] { return CUDA_SUCCESS; });
}

// Runs `operation`, which takes whether the GPUs that use the memory are idle, and synchronises
// only if it asks for that: memory in several pieces is copied into one handle. Synchronising would
// invalidate a capture.
template <typename Devices, typename Operation>
CUresult ServeIdle(Client& client, int ordinal, Devices devices, Operation operation) {
  const CUresult result = Serve(client, ordinal, [&] { return operation(false); });
  if (result != CUDA_ERROR_NOT_READY) return result;
  const Contexts::Held users = client.HoldContexts(devices());
  const GateScope gate;
  if (!client.Synchronise(users, nullptr)) {
    PrintNotice(
        "this GPU memory cannot be shared during a stream capture: export it before the capture");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return Serve(client, ordinal, [&] { return operation(true); });
}

// Makes room for an allocation that is out of memory: frees what pools keep, then, once, puts it in
// memory of the host, if that backs the device.
class RoomForAllocation {
 public:
  RoomForAllocation(Client& client, int ordinal) : client_(client), ordinal_(ordinal) {}
  bool operator()() {
    return client_.ReleaseKeptMemory(ordinal_) ||
           (!std::exchange(on_host_, true) && client_.ledger().PlaceNextOnHost(ordinal_));
  }

 private:
  Client& client_;
  int ordinal_;
  bool on_host_ = false;
};

struct Current {
  CUdevice device = 0;
  CUcontext context = nullptr;  // that owns what is made
};

// Returns the device and context that are current on this thread; nullopt if there is none.
inline std::optional<Current> CurrentDevice() {
  Current current;
  if (Real().cuCtxGetDevice(&current.device) != CUDA_SUCCESS ||
      Real().cuCtxGetCurrent(&current.context) != CUDA_SUCCESS) {
    return std::nullopt;
  }
  if (Client* client = Client::Get()) {
    current.context = client->contexts().OwnerOf(current.device, current.context);
  }
  return current;
}

// Returns what is current, if memory of the device is counted.
inline std::optional<Current> CountedCurrent(Client* client) {
  const auto current = client != nullptr ? CurrentDevice() : std::nullopt;
  if (!current || !client->ledger().HasDevice(current->device)) return std::nullopt;
  return current;
}

// Returns the driver's error if it would refuse any call that allocates or frees memory: the
// current context was destroyed, or a capture forbids the call, which invalidates the capture.
// Freeing null checks only that; cuCtxGetDevice still answers for a context that was destroyed
// (driver 580).
inline CUresult Refusal() { return Real().cuMemFree_v2(0); }

inline bool IsPerThread(CUstream stream, StreamKind kind) {
  return stream == CU_STREAM_PER_THREAD || (stream == nullptr && kind == StreamKind::kPerThread);
}

// Returns the driver's answer; nullopt if it refuses to give one.
inline std::optional<CUstreamCaptureStatus> CaptureStatus(CUstream stream, StreamKind kind) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUstream asked = IsPerThread(stream, kind) ? CU_STREAM_PER_THREAD : stream;
  if (Real().cuStreamIsCapturing(asked, &status) != CUDA_SUCCESS) return std::nullopt;
  return status;
}

// Frees memory at `address` with `free`, a call of the driver, and ends its counting.
template <typename Free>
CUresult FreeResident(Client& client, CUdeviceptr address, Free free) {
  // Removed first: as soon as the driver has freed it, another thread may get the address.
  ResidentAllocations& allocations = client.resident_allocations();
  const auto removed = allocations.Remove(address);
  const CUresult result = free();
  if (!removed) return result;
  if (result == CUDA_SUCCESS) {
    client.ReleasePinned(removed->freed.ordinal, removed->freed.bytes);
  } else {
    allocations.Add(removed->freed.ordinal, removed->owner, address, removed->size);
  }
  return result;
}

// Returns the address to pass to the driver for a query about an address in no allocation. In a gap
// between our allocations the driver would find our pieces, hence the null address.
inline CUdeviceptr DriverQueryAddress(Client& client, CUdeviceptr address) {
  return client.ledger().IsMapped(address, 1) ? 0 : address;
}

}  // namespace reveza::interpose
