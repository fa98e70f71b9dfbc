// Streams that record a graph instead of working.
#include <algorithm>

#include "calls.h"
#include "executor.h"
#include "graph.h"

namespace fakecuda {

void Invalidate(Capture& capture) { capture.invalidated = true; }

CUresult CheckUnsafeCall(State& state) {
  const CUstreamCaptureMode own = ThreadState::Get().capture_mode;
  if (own == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (const auto& [id, capture] : state.captures) {
    const bool mine = capture->thread == std::this_thread::get_id();
    const bool forbidden = mine ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
                                : own == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                      capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!forbidden) continue;
    Invalidate(*capture);
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult CheckNoCapture(State& state, const Context& context) {
  CUresult result = CUDA_SUCCESS;
  for (const auto& [id, capture] : state.captures) {
    if (capture->origin->context != &context) continue;
    Invalidate(*capture);
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult FindStream(Current& current, CUstream handle, std::shared_ptr<Stream>* found) {
  State& state = State::Get();
  Context& context = *current.context;
  const bool per_thread = handle == CU_STREAM_PER_THREAD ||
                          (handle == nullptr && ThreadState::Get().per_thread_default);
  if (per_thread) {
    std::shared_ptr<Stream>& own = context.per_thread[std::this_thread::get_id()];
    if (own == nullptr) {
      own = std::make_shared<Stream>();
      own->context = &context;
      own->handle = CU_STREAM_PER_THREAD;
      own->id = state.next_id++;
      context.streams.insert(own);
    }
    *found = own;
    return CUDA_SUCCESS;
  }
  if (handle != nullptr && handle != CU_STREAM_LEGACY) {
    *found = state.streams.Find(handle);
    if (*found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return (*found)->context->failed;
  }
  *found = context.legacy;
  CUresult result = CUDA_SUCCESS;
  for (const std::shared_ptr<Stream>& stream : context.streams) {
    if (stream->capture == nullptr || !stream->blocking()) continue;
    Invalidate(*stream->capture);
    result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return result;
}

CUresult Issue(StateLock& lock, Stream& stream, Operation operation) {
  State& state = State::Get();
  if (stream.capture != nullptr) {
    if (stream.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    GraphNode* node =
        AddNode(state, *stream.capture->graph, std::move(operation), std::move(stream.tail));
    stream.tail = {node};
    return CUDA_SUCCESS;
  }
  return Submit(lock, stream, {.engine = operation.engine, .run = std::move(operation.run)});
}

namespace {

CUresult BeginCapture(CUstream handle, std::shared_ptr<Graph> graph,
                      std::vector<GraphNode*> dependencies, CUstreamCaptureMode mode,
                      Current& current) {
  State& state = State::Get();
  std::shared_ptr<Stream> stream;
  const CUresult result = FindStream(current, handle, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = state.next_id++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream.get();
  capture->graph = std::move(graph);
  capture->streams.insert(stream.get());
  stream->capture = capture;
  stream->tail = std::move(dependencies);
  state.captures[capture->id] = std::move(capture);
  return CUDA_SUCCESS;
}

// Every branch must have come back to the stream where the capture began.
bool AllJoined(const Capture& capture) {
  std::vector<GraphNode*> reached(capture.origin->tail);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (GraphNode* before : reached[i]->dependencies) {
      if (std::ranges::find(reached, before) == reached.end()) reached.push_back(before);
    }
  }
  return std::ranges::all_of(capture.streams, [&](const Stream* stream) {
    return std::ranges::all_of(stream->tail, [&](GraphNode* node) {
      return std::ranges::find(reached, node) != reached.end();
    });
  });
}

}  // namespace

namespace calls {

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  auto graph = std::make_shared<Graph>();
  graph->id = state.next_id++;
  return BeginCapture(handle, std::move(graph), {}, mode, current);
}

CUresult cuStreamBeginCapture(CUstream handle) {
  return calls::cuStreamBeginCapture_v2(handle, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph target,
                                     const CUgraphNode* dependencies, const CUgraphEdgeData*,
                                     size_t count, CUstreamCaptureMode mode) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  std::shared_ptr<Graph> graph = state.graphs.Find(target);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> tail;
  for (std::size_t i = 0; i < count; ++i) {
    tail.push_back(state.nodes.Find(dependencies[i]).get());
    if (!graph->Owns(tail.back())) return CUDA_ERROR_INVALID_VALUE;
  }
  return BeginCapture(handle, std::move(graph), std::move(tail), mode, current);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  std::shared_ptr<Stream> stream;
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *graph = nullptr;
  const CUresult found = FindStream(current, handle, &stream);
  if (found == CUDA_ERROR_INVALID_HANDLE) return found;
  if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture->origin != stream.get()) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  const bool joined = AllJoined(*capture);
  for (Stream* member : capture->streams) {
    member->capture = nullptr;
    member->tail.clear();
  }
  state.captures.erase(capture->id);
  if (capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (capture->graph->handle == nullptr) {
    capture->graph->handle = state.graphs.Add(capture->graph);
  }
  *graph = capture->graph->handle;
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  std::shared_ptr<Stream> stream;
  const CUresult found = FindStream(current, handle, &stream);
  if (found != CUDA_SUCCESS) return found;
  *status = stream->capture == nullptr     ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                           : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, size_t* count) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  std::shared_ptr<Stream> stream;
  const CUresult found = FindStream(current, handle, &stream);
  if (found != CUDA_SUCCESS) return found;
  State& state = State::Get();
  Capture* capture = stream->capture.get();
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (count != nullptr) *count = 0;
  if (edges != nullptr) *edges = nullptr;
  if (capture == nullptr) return CUDA_SUCCESS;
  *status =
      capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (id != nullptr) *id = capture->id;
  if (capture->invalidated) return CUDA_SUCCESS;
  if (graph != nullptr) {
    if (capture->graph->handle == nullptr) {
      capture->graph->handle = state.graphs.Add(capture->graph);
    }
    *graph = capture->graph->handle;
  }
  // Valid until the next call for the stream, as the real driver says: kept by the thread.
  thread_local std::vector<CUgraphNode> tail;
  tail.clear();
  for (const GraphNode* node : stream->tail) tail.push_back(node->handle);
  if (dependencies != nullptr) *dependencies = tail.data();
  if (count != nullptr) *count = tail.size();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   size_t* count) {
  return calls::cuStreamGetCaptureInfo_v3(handle, status, id, graph, dependencies, nullptr, count);
}

CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return calls::cuStreamGetCaptureInfo_v3(handle, status, id, nullptr, nullptr, nullptr, nullptr);
}

CUresult cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode* dependencies, size_t count,
                                           unsigned flags) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  std::shared_ptr<Stream> stream;
  const CUresult found = FindStream(current, handle, &stream);
  if (found != CUDA_SUCCESS) return found;
  if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) stream->tail.clear();
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* node = State::Get().nodes.Find(dependencies[i]).get();
    if (!stream->capture->graph->Owns(node)) return CUDA_ERROR_INVALID_VALUE;
    stream->tail.push_back(node);
  }
  return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode* dependencies,
                                              const CUgraphEdgeData*, size_t count,
                                              unsigned flags) {
  return calls::cuStreamUpdateCaptureDependencies(handle, dependencies, count, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, ThreadState::Get().capture_mode);
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
