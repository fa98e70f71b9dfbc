// Memory of graphs: allocation nodes, and what each device keeps for them.
#include <algorithm>

#include "fakecuda/executor.h"
#include "fakecuda/graph.h"
#include "fakecuda/memory.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

// Returns whether neither a node nor an executable graph refers to the memory; only State does.
bool Unused(const std::shared_ptr<GraphMemory>& memory) { return memory.use_count() == 1; }

CUresult AddNode(State& state, CUgraphNode* handle, CUgraph graph_handle,
                 const CUgraphNode* dependencies, std::size_t count,
                 std::shared_ptr<GraphNode> node) {
  const std::shared_ptr<Graph> graph = state.graphs.Find(graph_handle);
  if (handle == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    node->dependencies.push_back(state.nodes.Find(dependencies[i]).get());
    if (!graph->Owns(node->dependencies.back())) return CUDA_ERROR_INVALID_VALUE;
  }
  node->run = [](Execution&) { return CUDA_SUCCESS; };
  *handle = node->handle = state.nodes.Add(node);
  graph->nodes.push_back(std::move(node));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult MaterialiseGraphMemory(StateLock& lock, const ExecutableGraph& graph) {
  State& state = State::Get();
  for (const std::shared_ptr<GraphMemory>& memory : graph.memory) {
    if (memory->mapped) continue;
    std::shared_ptr<Physical> physical;
    for (const std::shared_ptr<GraphMemory>& kept : state.graph_memory) {
      if (physical != nullptr || !Unused(kept) || !kept->mapped || kept->bytes != memory->bytes ||
          kept->device != memory->device) {
        continue;
      }
      physical = state.addresses.FindMapping(kept->start)->physical;
      ReleaseRange(lock, kept->start);
      kept->mapped = false;
    }
    if (physical == nullptr) {
      AllocationInfo info;
      lock.unlock();
      const bool good = state.card->Allocate(memory->device, memory->bytes, 0, &info);
      lock.lock();
      if (!good) return CUDA_ERROR_OUT_OF_MEMORY;
      physical = std::make_shared<Physical>(state.card.get(), info);
    }
    const Reservation* where = state.addresses.FindReservation(memory->start);
    if (!state.addresses.Map(*where, where->start, std::move(physical))) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Mapping* mapping = state.addresses.FindMapping(memory->start);
    mapping->readable = mapping->writable = DevicesWithAccess(state, memory->device);
    memory->mapped = true;
  }
  return CUDA_SUCCESS;
}

namespace calls {

CUresult cuGraphAddMemAllocNode(State& state, CUgraphNode* handle, CUgraph graph,
                                const CUgraphNode* dependencies, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  if (parameters == nullptr || parameters->bytesize == 0 ||
      parameters->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      !state.card->HasDevice(parameters->poolProps.location.id)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::uint64_t bytes = RoundUp(parameters->bytesize);
  const Reservation* where = state.addresses.Reserve(bytes, kGranule, 0, MemoryKind::kPool);
  if (where == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  auto node = std::make_shared<GraphNode>();
  node->memory = std::make_shared<GraphMemory>(
      GraphMemory{where->start, bytes, parameters->poolProps.location.id});
  state.graph_memory.push_back(node->memory);
  parameters->dptr = where->start;
  return AddNode(state, handle, graph, dependencies, count, std::move(node));
}

CUresult cuGraphAddMemFreeNode(State& state, CUgraphNode* handle, CUgraph graph,
                               const CUgraphNode* dependencies, size_t count, CUdeviceptr pointer) {
  const bool known = std::ranges::any_of(
      state.graph_memory, [&](const auto& memory) { return memory->start == pointer; });
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  return AddNode(state, handle, graph, dependencies, count, std::make_shared<GraphNode>());
}

CUresult cuDeviceGetGraphMemAttribute(State& state, CUdevice device, CUgraphMem_attribute attribute,
                                      void* value) {
  if (value == nullptr || !state.card->HasDevice(device)) return CUDA_ERROR_INVALID_VALUE;
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
  for (const std::shared_ptr<GraphMemory>& memory : state.graph_memory) {
    if (memory->device != device || !memory->mapped) continue;
    reserved += memory->bytes;
    if (!Unused(memory)) used += memory->bytes;
  }
  if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT) {
    *static_cast<cuuint64_t*>(value) = reserved;
    return CUDA_SUCCESS;
  }
  if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT) {
    *static_cast<cuuint64_t*>(value) = used;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuDeviceGraphMemTrim(State& state, StateLock& lock, CUdevice device) {
  if (!state.card->HasDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  for (const std::shared_ptr<GraphMemory>& memory : state.graph_memory) {
    if (memory->device != device || !Unused(memory) || !memory->mapped) continue;
    ReleaseRange(lock, memory->start);
    memory->mapped = false;
  }
  std::erase_if(state.graph_memory,
                [](const auto& memory) { return Unused(memory) && !memory->mapped; });
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
