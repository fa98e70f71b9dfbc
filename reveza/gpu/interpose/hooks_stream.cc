// Hooks of stream captures: gated like a launch, and recorded, so that no drain invalidates one.
#include "generated/interpose/driver_hooks.h"
#include "reveza/gpu/interpose/client.h"

namespace reveza::interpose::hooks {
namespace {

bool IsPerThread(CUstream stream, StreamKind kind) {
  return stream == CU_STREAM_PER_THREAD || (stream == nullptr && kind == StreamKind::kPerThread);
}

template <typename BeginCall>
CUresult Begin(CUstream stream, StreamKind kind, BeginCall begin) {
  GateScope gate(stream, kind);
  Client* client = Client::Get();
  if (client == nullptr) return begin();
  // Recorded inside the gate: a drain that checked for captures earlier waits until this thread has
  // left the gate, and checks again.
  return client->captures().Begin(stream, IsPerThread(stream, kind), begin);
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
  return client->captures().Begin(
      hStream, IsPerThread(hStream, kind), [&] { return real(hStream, streamCigCaptureParams); },
      /*cig=*/true);
}

CUresult cuStreamEndCaptureToCig(decltype(&::cuStreamEndCaptureToCig) real, CUstream hStream,
                                 StreamKind kind) {
  const CUresult result = real(hStream);
  if (Client* client = Client::Get()) {
    client->captures().OnEnd(hStream, IsPerThread(hStream, kind));
  }
  return result;
}

CUresult cuStreamEndCapture(decltype(&::cuStreamEndCapture) real, CUstream hStream,
                            CUgraph* phGraph, StreamKind kind) {
  const CUresult result = real(hStream, phGraph);
  if (Client* client = Client::Get()) {
    client->captures().OnEnd(hStream, IsPerThread(hStream, kind));
  }
  return result;
}

CUresult cuStreamDestroy(decltype(&::cuStreamDestroy) real, CUstream hStream) {
  if (Client* client = Client::Get()) client->captures().OnEnd(hStream, false);
  return real(hStream);
}

}  // namespace reveza::interpose::hooks
