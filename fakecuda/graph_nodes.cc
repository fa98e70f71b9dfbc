// Nodes that are added to graphs by hand, and their parameters.
#include <algorithm>
#include <cstring>

#include "boxes.h"
#include "calls.h"
#include "graph.h"
#include "launch.h"
#include "transfer.h"

namespace fakecuda {
namespace {

CUresult MakeMemcpy(const State& state, const CUDA_MEMCPY3D& copy, Operation* operation) {
  Transfer transfer;
  const CUresult result = MakeTransfer(state, copy, &transfer);
  if (result != CUDA_SUCCESS) return result;
  operation->memcpy = copy;
  return MakeCopy(state, transfer, operation);
}

CUresult MakeMemset(const State& state, const CUDA_MEMSET_NODE_PARAMS& set, Operation* operation) {
  return MakeFill(state, {set.dst, set.pitch, set.value, set.elementSize, set.width, set.height},
                  operation);
}

CUresult MakeHost(const CUDA_HOST_NODE_PARAMS& host, Operation* operation) {
  if (host.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  operation->type = CU_GRAPH_NODE_TYPE_HOST;
  operation->engine = Engine::kHost;
  operation->host = host;
  operation->run = [host](Execution&) {
    ThreadState::Get().in_callback = true;
    host.fn(host.userData);
    ThreadState::Get().in_callback = false;
    return CUDA_SUCCESS;
  };
  return CUDA_SUCCESS;
}

// Adds what `make` makes.
template <typename Make>
CUresult Add(CUgraphNode* node, CUgraph handle, const CUgraphNode* dependencies, std::size_t count,
             Make make) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  const std::shared_ptr<Graph> graph = state.graphs.Find(handle);
  if (node == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> before;
  for (std::size_t i = 0; i < count; ++i) {
    before.push_back(state.nodes.Find(dependencies[i]).get());
    if (!graph->Owns(before.back())) return CUDA_ERROR_INVALID_VALUE;
  }
  Operation operation;
  const CUresult result = make(state, *current.context, &operation);
  if (result != CUDA_SUCCESS) return result;
  *node = AddNode(state, *graph, std::move(operation), std::move(before))->handle;
  return CUDA_SUCCESS;
}

// Replaces what a node of an executable graph does.
template <typename Make>
CUresult Replace(CUgraphExec handle, CUgraphNode node, CUgraphNodeType type, Make make) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  const std::shared_ptr<Graph> graph = state.executables.Find(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const std::shared_ptr<GraphNode>& own : graph->nodes) {
    if (own->handle != node || own->operation.type != type) continue;
    Operation operation;
    const CUresult result = make(state, *current.context, &operation);
    if (result == CUDA_SUCCESS) own->operation = std::move(operation);
    return result;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

namespace calls {

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(node, graph, before, count, [&](State& state, Context& context, Operation* made) {
    return MakeLaunch(state, context, parameters->func, *parameters, made);
  });
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                              size_t count, const CUDA_MEMCPY3D* copy, CUcontext) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(node, graph, before, count, [&](State& state, Context&, Operation* made) {
    return MakeMemcpy(state, *copy, made);
  });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS* set, CUcontext) {
  if (set == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(node, graph, before, count, [&](State& state, Context&, Operation* made) {
    return MakeMemset(state, *set, made);
  });
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                            size_t count, const CUDA_HOST_NODE_PARAMS* host) {
  if (host == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(node, graph, before, count,
             [&](State&, Context&, Operation* made) { return MakeHost(*host, made); });
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                             size_t count) {
  return Add(node, graph, before, count, [](State&, Context&, Operation*) { return CUDA_SUCCESS; });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before,
                                  size_t count, CUgraph child) {
  return Add(node, graph, before, count, [&](State& state, Context&, Operation* made) {
    const std::shared_ptr<Graph> found = state.graphs.Find(child);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    made->type = CU_GRAPH_NODE_TYPE_GRAPH;
    made->child = CopyGraph(state, *found);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphAddDependencies_v2(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData*, size_t count) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  const std::shared_ptr<Graph> graph = state.graphs.Find(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* before = state.nodes.Find(from[i]).get();
    GraphNode* after = state.nodes.Find(to[i]).get();
    if (!graph->Owns(before) || !graph->Owns(after)) return CUDA_ERROR_INVALID_VALUE;
    after->dependencies.push_back(before);
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t count) {
  return calls::cuGraphAddDependencies_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  const std::shared_ptr<Graph> graph = state.graphs.Find(handle);
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; nodes != nullptr && i < std::min(*count, graph->nodes.size()); ++i) {
    nodes[i] = graph->nodes[i]->handle;
  }
  *count = graph->nodes.size();
  return CUDA_SUCCESS;
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  const std::shared_ptr<Graph> graph = state.graphs.Find(handle);
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::size_t found = 0;
  for (const std::shared_ptr<GraphNode>& node : graph->nodes) {
    if (!node->dependencies.empty()) continue;
    if (nodes != nullptr && found < *count) nodes[found] = node->handle;
    ++found;
  }
  *count = found;
  return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData*,
                            size_t* count) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  const std::shared_ptr<Graph> graph = state.graphs.Find(handle);
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::size_t found = 0;
  for (const std::shared_ptr<GraphNode>& node : graph->nodes) {
    for (const GraphNode* before : node->dependencies) {
      if (from != nullptr && to != nullptr && found < *count) {
        from[found] = before->handle;
        to[found] = node->handle;
      }
      ++found;
    }
  }
  *count = found;
  return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return calls::cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  const StateLock lock(State::Get().mutex);
  const std::shared_ptr<GraphNode> node = State::Get().nodes.Find(handle);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->operation.type;
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS* parameters) {
  const StateLock lock(State::Get().mutex);
  const std::shared_ptr<GraphNode> node = State::Get().nodes.Find(handle);
  if (node == nullptr || node->operation.type != CU_GRAPH_NODE_TYPE_KERNEL) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *parameters = node->operation.kernel;
  return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS* parameters) {
  const StateLock lock(State::Get().mutex);
  const std::shared_ptr<GraphNode> node = State::Get().nodes.Find(handle);
  if (node == nullptr || node->operation.type != CU_GRAPH_NODE_TYPE_MEMSET) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *parameters = node->operation.memset;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec graph, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Replace(graph, node, CU_GRAPH_NODE_TYPE_KERNEL,
                 [&](State& state, Context& context, Operation* made) {
                   return MakeLaunch(state, context, parameters->func, *parameters, made);
                 });
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec graph, CUgraphNode node,
                                        const CUDA_MEMCPY3D* copy, CUcontext) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Replace(
      graph, node, CU_GRAPH_NODE_TYPE_MEMCPY,
      [&](State& state, Context&, Operation* made) { return MakeMemcpy(state, *copy, made); });
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec graph, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* set, CUcontext) {
  if (set == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Replace(
      graph, node, CU_GRAPH_NODE_TYPE_MEMSET,
      [&](State& state, Context&, Operation* made) { return MakeMemset(state, *set, made); });
}

}  // namespace calls
}  // namespace fakecuda
