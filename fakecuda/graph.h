// Graphs; issues work to a stream or, during capture, to its graph.
#pragma once

#include <cuda.h>

#include <memory>
#include <vector>

#include "fakecuda/state.h"

namespace fakecuda {

struct GraphNode {
  CUgraphNode handle = nullptr;
  WorkFunction run;
  std::vector<GraphNode*> dependencies;
  std::shared_ptr<GraphMemory> memory;  // of an allocation node
};

struct Graph {
  CUgraph handle = nullptr;
  std::vector<std::shared_ptr<GraphNode>> nodes;  // in topological order

  bool Owns(const GraphNode* node) const;
};

// Immutable snapshot of a graph's work. Steps run sequentially, in a random topological order.
struct ExecutableGraph {
  struct Step {
    WorkFunction run;
    std::vector<std::size_t> dependencies;  // indices of steps
  };
  std::vector<Step> steps;
  std::vector<std::shared_ptr<GraphMemory>> memory;
};

// Maps physical memory for the allocation nodes of a graph that is about to be launched. Releases
// the lock while memory is filled.
CUresult MaterialiseGraphMemory(StateLock& lock, const ExecutableGraph& graph);

// Resolves a stream handle for the calling entry and thread. Use of the legacy stream invalidates
// captures of blocking streams.
CUresult FindStream(Current& current, CUstream handle, std::shared_ptr<Stream>* stream);
// Submits the work to the stream or adds it to the graph being captured.
CUresult Issue(StateLock& lock, Stream& stream, Work work);

// Invalidates the capture; cuStreamEndCapture reports it.
void Invalidate(Capture& capture);
// Takes all streams out of the capture.
void EndCapture(State& state, const Capture& capture);
// Checks a call that a capture does not support: invalidates the capture of the stream.
CUresult CheckNotCapturing(const Stream& stream);
// Checks a call that cuThreadExchangeStreamCaptureMode prohibits during a capture.
CUresult CheckUnsafeCall(State& state);
// Checks a call that synchronises a context: invalidates its captures.
CUresult CheckNoCapture(State& state, const Context& context);

}  // namespace fakecuda
