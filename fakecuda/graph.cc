// Creating, instantiating and launching graphs.
#include "fakecuda/graph.h"

#include <algorithm>

#include "generated/fakecuda/calls.h"

namespace fakecuda {

bool Graph::Owns(const GraphNode* node) const {
  return std::ranges::any_of(nodes, [node](const auto& own) { return own.get() == node; });
}

namespace {

CUresult RunGraph(const ExecutableGraph& graph, Execution& execution) {
  std::mt19937_64 random(State::Get().options.seed + execution.number());
  std::vector<bool> done(graph.steps.size(), false);
  for (std::size_t left = done.size(); left > 0; --left) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < done.size(); ++i) {
      const bool may = !done[i] && std::ranges::all_of(graph.steps[i].dependencies,
                                                       [&](std::size_t one) { return done[one]; });
      if (may) ready.push_back(i);
    }
    const std::size_t next = ready[random() % ready.size()];
    RETURN_IF_ERROR(graph.steps[next].run(execution));
    if (execution.aborted()) return CUDA_ERROR_ILLEGAL_ADDRESS;
    done[next] = true;
  }
  return CUDA_SUCCESS;
}

}  // namespace

namespace calls {

CUresult cuGraphCreate(State& state, CUgraph* handle, unsigned flags) {
  if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  auto graph = std::make_shared<Graph>();
  *handle = graph->handle = state.graphs.Add(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(State& state, CUgraph handle) {
  const std::shared_ptr<Graph> graph = state.graphs.Find(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const std::shared_ptr<GraphNode>& node : graph->nodes) state.nodes.Remove(node->handle);
  state.graphs.Remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(Current&, State& state, CUgraphExec* handle, CUgraph original,
                                     unsigned long long flags) {
  const std::shared_ptr<Graph> graph = state.graphs.Find(original);
  if (handle == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  auto executable = std::make_shared<ExecutableGraph>();
  std::map<const GraphNode*, std::size_t> indices;
  for (const std::shared_ptr<GraphNode>& node : graph->nodes) {
    ExecutableGraph::Step step{node->run, {}};
    for (const GraphNode* before : node->dependencies) {
      step.dependencies.push_back(indices.at(before));
    }
    if (node->memory != nullptr) executable->memory.push_back(node->memory);
    indices[node.get()] = executable->steps.size();
    executable->steps.push_back(std::move(step));
  }
  *handle = state.executables.Add(std::move(executable));
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(State& state, CUgraphExec handle) {
  if (state.executables.Find(handle) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  state.executables.Remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(Current& current, State& state, CUgraphExec handle, CUstream stream_handle) {
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, stream_handle, &stream));
  const std::shared_ptr<ExecutableGraph> graph = state.executables.Find(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  RETURN_IF_ERROR(MaterialiseGraphMemory(current.lock, *graph));
  const auto run = [graph](Execution& execution) { return RunGraph(*graph, execution); };
  return Issue(current.lock, *stream, {.engine = Engine::kCompute, .run = run});
}

}  // namespace calls
}  // namespace fakecuda
