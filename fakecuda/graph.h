// Graphs and their nodes, and what adds work to a stream or, while it captures, to its graph.
#pragma once

#include <cuda.h>

#include <memory>
#include <vector>

#include "state.h"

namespace fakecuda {

// One thing for the card to do.
struct Operation {
  Engine engine = Engine::kCompute;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  WorkFunction run;
  CUDA_KERNEL_NODE_PARAMS kernel = {};  // without the values of the parameters
  CUDA_MEMCPY3D memcpy = {};
  CUDA_MEMSET_NODE_PARAMS memset = {};
  CUDA_HOST_NODE_PARAMS host = {};
  std::shared_ptr<Graph> child;
  std::shared_ptr<Event> event;
};

struct GraphNode {
  CUgraphNode handle = nullptr;
  Graph* graph = nullptr;
  Operation operation;
  std::vector<GraphNode*> dependencies;
  bool enabled = true;
};

struct Graph {
  CUgraph handle = nullptr;
  std::uint64_t id = 0;
  std::vector<std::shared_ptr<GraphNode>> nodes;  // in an order in which they may run
  Context* context = nullptr;
  CUgraph source = nullptr;  // of an executable graph

  bool Owns(const GraphNode* node) const;
};

// Adds a node; under the lock.
GraphNode* AddNode(State& state, Graph& graph, Operation operation,
                   std::vector<GraphNode*> dependencies);
// A copy with nodes of its own.
std::shared_ptr<Graph> CopyGraph(State& state, const Graph& graph);

// Finds the stream that a handle means to the calling entry and thread. Work for the legacy
// stream ends captures of blocking streams.
CUresult FindStream(Current& current, CUstream handle, std::shared_ptr<Stream>* stream);
// Adds the operation to the stream, or to the graph that it captures.
CUresult Issue(StateLock& lock, Stream& stream, Operation operation);

// The capture is spoilt; its end will say so.
void Invalidate(Capture& capture);
// For a call that the rules of cuThreadExchangeStreamCaptureMode forbid during a capture.
CUresult CheckUnsafeCall(State& state);
// For a call that waits for all of a context: spoils the captures there.
CUresult CheckNoCapture(State& state, const Context& context);

}  // namespace fakecuda
