// Hooks of stream captures: gated like a launch, and recorded, so that no drain invalidates one.
// Hooks of calls after which a stream waits for the host.
#include <algorithm>
#include <span>

#include "generated/interpose/driver_hooks.h"
#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/interpose/serve.h"

namespace reveza::interpose::hooks {
namespace {

CapturedStream Captured(CUstream stream, StreamKind kind, bool cig = false) {
  CUcontext context = nullptr;
  Real().cuCtxGetCurrent(&context);
  return {stream, context, IsPerThread(stream, kind), cig};
}

template <typename BeginCall>
CUresult Begin(CUstream stream, StreamKind kind, BeginCall begin) {
  GateScope gate(stream, kind);
  Client* client = Client::Get();
  if (client == nullptr) return begin();
  // Recorded inside the gate: a drain that checked for captures earlier waits until this thread has
  // left the gate, and checks again.
  return client->captures().Begin(Captured(stream, kind), begin);
}

template <typename WaitCall>
CUresult SubmitWait(CUstream stream, StreamKind kind, HostWaits::Kind wait, WaitCall call) {
  Client* client = Client::Get();
  if (client == nullptr) return call();
  const HostWaits::Submission submission(client->host_waits());
  const GateScope gate(stream, kind);
  const CUresult result = call();
  const bool per_thread = IsPerThread(stream, kind);
  // A captured wait is part of a graph.
  if (result == CUDA_SUCCESS &&
      !(client->captures().Any() && CaptureStatus(stream, kind) != CU_STREAM_CAPTURE_STATUS_NONE)) {
    client->host_waits().Record(stream, per_thread, wait);
  }
  return result;
}

bool HasWait(const CUstreamBatchMemOpParams* operations, unsigned int count) {
  return operations != nullptr &&
         std::ranges::any_of(std::span(operations, count), [](const auto& one) {
           return one.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
                  one.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
         });
}

}  // namespace

CUresult cuStreamBeginCapture(decltype(&::cuStreamBeginCapture) real, CUstream hStream,
                              StreamKind kind) {
  return Begin(hStream, kind, [&] { return real(hStream); });
}

CUresult cuStreamBeginCapture(decltype(&::cuStreamBeginCapture_v2) real, CUstream hStream,
                              CUstreamCaptureMode mode, StreamKind kind) {
  return Begin(hStream, kind, [&] { return real(hStream, mode); });
}

CUresult cuStreamBeginCaptureToGraph(decltype(&::cuStreamBeginCaptureToGraph) real,
                                     CUstream hStream, CUgraph hGraph,
                                     const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                     CUstreamCaptureMode mode, StreamKind kind) {
  return Begin(hStream, kind, [&] {
    return real(hStream, hGraph, dependencies, dependencyData, numDependencies, mode);
  });
}

CUresult cuStreamBeginRecaptureToGraph(decltype(&::cuStreamBeginRecaptureToGraph) real,
                                       CUstream hStream, CUstreamCaptureMode mode, CUgraph hGraph,
                                       CUgraphRecaptureCallback callbackFunc, void* userData,
                                       StreamKind kind) {
  return Begin(hStream, kind, [&] { return real(hStream, mode, hGraph, callbackFunc, userData); });
}

// The graphics API executes the work later, without the gate, so its memory must stay.
CUresult cuStreamBeginCaptureToCig(decltype(&::cuStreamBeginCaptureToCig) real, CUstream hStream,
                                   CUstreamCigCaptureParams* streamCigCaptureParams,
                                   StreamKind kind) {
  GateScope gate(hStream, kind);
  Client* client = Client::Get();
  if (client == nullptr) return real(hStream, streamCigCaptureParams);
  client->DisableSwapping("cuStreamBeginCaptureToCig");
  return client->captures().Begin(Captured(hStream, kind, /*cig=*/true),
                                  [&] { return real(hStream, streamCigCaptureParams); });
}

CUresult cuStreamEndCaptureToCig(decltype(&::cuStreamEndCaptureToCig) real, CUstream hStream,
                                 StreamKind kind) {
  const CUresult result = real(hStream);
  if (Client* client = Client::Get()) {
    client->captures().OnEnd(Captured(hStream, kind));
  }
  return result;
}

CUresult cuStreamEndCapture(decltype(&::cuStreamEndCapture) real, CUstream hStream,
                            CUgraph* phGraph, StreamKind kind) {
  const CUresult result = real(hStream, phGraph);
  if (result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) return result;  // the capture goes on
  if (Client* client = Client::Get()) {
    client->captures().OnEnd(Captured(hStream, kind));
  }
  return result;
}

CUresult cuStreamDestroy(decltype(&::cuStreamDestroy) real, CUstream hStream) {
  if (Client* client = Client::Get()) {
    client->captures().OnEnd({.stream = hStream});
    client->host_waits().OnStreamDestroy(hStream);
    client->stream_pools().OnStreamDestroy(hStream);
  }
  return real(hStream);
}

CUresult cuStreamWaitValue32(decltype(&::cuStreamWaitValue32) real, CUstream stream,
                             CUdeviceptr addr, cuuint32_t value, unsigned int flags,
                             StreamKind kind) {
  return SubmitWait(stream, kind, HostWaits::Kind::kValue,
                    [&] { return real(stream, addr, value, flags); });
}

CUresult cuStreamWaitValue64(decltype(&::cuStreamWaitValue64) real, CUstream stream,
                             CUdeviceptr addr, cuuint64_t value, unsigned int flags,
                             StreamKind kind) {
  return SubmitWait(stream, kind, HostWaits::Kind::kValue,
                    [&] { return real(stream, addr, value, flags); });
}

CUresult cuStreamBatchMemOp(decltype(&::cuStreamBatchMemOp) real, CUstream stream,
                            unsigned int count, CUstreamBatchMemOpParams* paramArray,
                            unsigned int flags, StreamKind kind) {
  const auto call = [&] { return real(stream, count, paramArray, flags); };
  if (HasWait(paramArray, count)) return SubmitWait(stream, kind, HostWaits::Kind::kValue, call);
  const GateScope gate(stream, kind);
  return call();
}

CUresult cuWaitExternalSemaphoresAsync(decltype(&::cuWaitExternalSemaphoresAsync) real,
                                       const CUexternalSemaphore* extSemArray,
                                       const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS* paramsArray,
                                       unsigned int numExtSems, CUstream stream, StreamKind kind) {
  return SubmitWait(stream, kind, HostWaits::Kind::kValue,
                    [&] { return real(extSemArray, paramsArray, numExtSems, stream); });
}

CUresult cuLaunchHostFunc(decltype(&::cuLaunchHostFunc) real, CUstream hStream, CUhostFn fn,
                          void* userData, StreamKind kind) {
  return SubmitWait(hStream, kind, HostWaits::Kind::kFunction,
                    [&] { return real(hStream, fn, userData); });
}

CUresult cuLaunchHostFunc(decltype(&::cuLaunchHostFunc_v2) real, CUstream hStream, CUhostFn fn,
                          void* userData, unsigned int syncMode, StreamKind kind) {
  return SubmitWait(hStream, kind, HostWaits::Kind::kFunction,
                    [&] { return real(hStream, fn, userData, syncMode); });
}

CUresult cuStreamAddCallback(decltype(&::cuStreamAddCallback) real, CUstream hStream,
                             CUstreamCallback callback, void* userData, unsigned int flags,
                             StreamKind kind) {
  return SubmitWait(hStream, kind, HostWaits::Kind::kFunction,
                    [&] { return real(hStream, callback, userData, flags); });
}

}  // namespace reveza::interpose::hooks
