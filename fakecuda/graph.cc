// Graphs: made, copied, instantiated, launched.
#include "graph.h"

#include <algorithm>

#include "calls.h"
#include "executor.h"

namespace fakecuda {

bool Graph::Owns(const GraphNode* node) const {
  return std::ranges::any_of(nodes, [node](const auto& own) { return own.get() == node; });
}

GraphNode* AddNode(State& state, Graph& graph, Operation operation,
                   std::vector<GraphNode*> dependencies) {
  auto node = std::make_shared<GraphNode>();
  node->graph = &graph;
  node->operation = std::move(operation);
  node->dependencies = std::move(dependencies);
  node->handle = state.nodes.Add(node);
  graph.nodes.push_back(node);
  return node.get();
}

std::shared_ptr<Graph> CopyGraph(State& state, const Graph& graph) {
  auto copy = std::make_shared<Graph>();
  copy->id = state.next_id++;
  copy->context = graph.context;
  std::map<const GraphNode*, GraphNode*> copies;
  for (const std::shared_ptr<GraphNode>& node : graph.nodes) {
    copies[node.get()] = AddNode(state, *copy, node->operation, {});
    copies[node.get()]->enabled = node->enabled;
  }
  for (const std::shared_ptr<GraphNode>& node : graph.nodes) {
    for (const GraphNode* before : node->dependencies) {
      copies[node.get()]->dependencies.push_back(copies[before]);
    }
  }
  return copy;
}

namespace {

struct Step {
  WorkFunction run;
  std::vector<std::size_t> before;
};

// What a graph does, apart from the graph, which may change or go while it runs.
std::vector<Step> StepsOf(const Graph& graph) {
  std::vector<Step> steps;
  std::map<const GraphNode*, std::size_t> numbers;
  for (const std::shared_ptr<GraphNode>& node : graph.nodes) {
    numbers[node.get()] = steps.size();
    steps.push_back({node->enabled ? node->operation.run : nullptr, {}});
    if (node->operation.child != nullptr && node->enabled) {
      steps.back().run = [child = StepsOf(*node->operation.child)](Execution& execution) {
        for (const Step& step : child) {
          const CUresult result = step.run ? step.run(execution) : CUDA_SUCCESS;
          if (result != CUDA_SUCCESS) return result;
        }
        return CUDA_SUCCESS;
      };
    }
  }
  for (const std::shared_ptr<GraphNode>& node : graph.nodes) {
    for (const GraphNode* before : node->dependencies) {
      steps[numbers[node.get()]].before.push_back(numbers[before]);
    }
  }
  return steps;
}

// One node after the other, in a random order that the dependencies allow.
CUresult RunSteps(const std::vector<Step>& steps, Execution& execution) {
  std::mt19937_64 random(State::Get().options.seed + execution.number());
  std::vector<bool> done(steps.size(), false);
  for (std::size_t left = steps.size(); left > 0; --left) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool may = !done[i] && std::ranges::all_of(steps[i].before, [&](std::size_t before) {
        return done[before];
      });
      if (may) ready.push_back(i);
    }
    if (ready.empty()) return CUDA_ERROR_INVALID_VALUE;
    const std::size_t next = ready[random() % ready.size()];
    const CUresult result = steps[next].run ? steps[next].run(execution) : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS) return result;
    if (execution.aborted()) return CUDA_ERROR_ILLEGAL_ADDRESS;
    done[next] = true;
  }
  return CUDA_SUCCESS;
}

void ForgetNodes(State& state, const Graph& graph) {
  for (const std::shared_ptr<GraphNode>& node : graph.nodes) state.nodes.Remove(node->handle);
}

// Is the second graph the first with other parameters?
bool SameShape(const Graph& a, const Graph& b) {
  const auto position = [](const Graph& graph, const GraphNode* node) {
    return std::ranges::find_if(graph.nodes, [&](const auto& own) { return own.get() == node; }) -
           graph.nodes.begin();
  };
  if (a.nodes.size() != b.nodes.size()) return false;
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    const GraphNode &x = *a.nodes[i], &y = *b.nodes[i];
    if (x.operation.type != y.operation.type || x.dependencies.size() != y.dependencies.size()) {
      return false;
    }
    for (std::size_t d = 0; d < x.dependencies.size(); ++d) {
      if (position(a, x.dependencies[d]) != position(b, y.dependencies[d])) return false;
    }
  }
  return true;
}

}  // namespace

namespace calls {

CUresult cuGraphCreate(CUgraph* handle, unsigned flags) {
  if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  State& state = State::Get();
  const StateLock lock(state.mutex);
  auto graph = std::make_shared<Graph>();
  graph->id = state.next_id++;
  graph->handle = state.graphs.Add(graph);
  *handle = graph->handle;
  return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  const std::shared_ptr<Graph> graph = state.graphs.Find(original);
  if (clone == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Graph> copy = CopyGraph(state, *graph);
  copy->handle = state.graphs.Add(copy);
  *clone = copy->handle;
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  const std::shared_ptr<Graph> graph = state.graphs.Find(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ForgetNodes(state, *graph);
  state.graphs.Remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* handle, CUgraph original,
                                     unsigned long long flags) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  const std::shared_ptr<Graph> graph = state.graphs.Find(original);
  if (handle == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  std::shared_ptr<Graph> executable = CopyGraph(state, *graph);
  // Nodes of an executable graph are named by the nodes that they were made from.
  ForgetNodes(state, *executable);
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    executable->nodes[i]->handle = graph->nodes[i]->handle;
  }
  executable->context = current.context;
  executable->source = original;
  *handle = state.executables.Add(std::move(executable));
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec* handle, CUgraph graph, CUgraphNode*, char*, size_t) {
  return calls::cuGraphInstantiateWithFlags(handle, graph, 0);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* handle, CUgraph graph, CUgraphNode*, char*, size_t) {
  return calls::cuGraphInstantiateWithFlags(handle, graph, 0);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* handle, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = calls::cuGraphInstantiateWithFlags(handle, graph, parameters->flags);
  parameters->result_out =
      result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (state.executables.Find(handle) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  state.executables.Remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (flags == nullptr || state.executables.Find(handle) == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *flags = 0;
  return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream_handle) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  std::shared_ptr<Stream> stream;
  const CUresult found = FindStream(current, stream_handle, &stream);
  if (found != CUDA_SUCCESS) return found;
  return State::Get().executables.Find(handle) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  std::shared_ptr<Stream> stream;
  const CUresult found = FindStream(current, stream_handle, &stream);
  if (found != CUDA_SUCCESS) return found;
  const std::shared_ptr<Graph> graph = state.executables.Find(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture != nullptr) {
    Operation child;
    child.type = CU_GRAPH_NODE_TYPE_GRAPH;
    child.child = CopyGraph(state, *graph);
    return Issue(current.lock, *stream, std::move(child));
  }
  return Submit(
      current.lock, *stream,
      {.engine = Engine::kCompute, .run = [steps = StepsOf(*graph)](Execution& execution) {
         return RunSteps(steps, execution);
       }});
}

CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph newer,
                              CUgraphExecUpdateResultInfo* info) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  const std::shared_ptr<Graph> executable = state.executables.Find(handle);
  const std::shared_ptr<Graph> graph = state.graphs.Find(newer);
  if (executable == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool same = SameShape(*executable, *graph);
  if (info != nullptr) {
    *info = {};
    info->result =
        same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  }
  if (!same) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    executable->nodes[i]->operation = graph->nodes[i]->operation;
  }
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
