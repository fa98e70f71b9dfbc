// Stream capture.
#include <algorithm>

#include "fakecuda/executor.h"
#include "fakecuda/graph.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {

void Invalidate(Capture& capture) { capture.invalidated = true; }

void EndCapture(State& state, const Capture& capture) {
  for (Stream* member : capture.streams) {
    member->capture = nullptr;
    member->tail.clear();
  }
  state.captures.erase(capture.id);
}

CUresult CheckNotCapturing(const Stream& stream) {
  if (stream.capture == nullptr) return CUDA_SUCCESS;
  Invalidate(*stream.capture);
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

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

CUresult Issue(StateLock& lock, Stream& stream, Work work) {
  if (stream.capture == nullptr) return Submit(lock, stream, std::move(work));
  if (stream.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  auto node = std::make_shared<GraphNode>();
  node->run = std::move(work.run);
  node->dependencies = std::move(stream.tail);
  node->handle = State::Get().nodes.Add(node);
  stream.tail = {node.get()};
  stream.capture->graph->nodes.push_back(std::move(node));
  return CUDA_SUCCESS;
}

namespace {

CUresult BeginCapture(CUstream handle, std::shared_ptr<Graph> graph,
                      std::vector<GraphNode*> dependencies, CUstreamCaptureMode mode,
                      Current& current) {
  State& state = State::Get();
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, handle, &stream));
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

CUgraph HandleOf(State& state, const std::shared_ptr<Graph>& graph) {
  if (graph->handle == nullptr) graph->handle = state.graphs.Add(graph);
  return graph->handle;
}

// Returns whether every branch has joined the origin stream.
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

CUresult cuStreamBeginCapture_v2(Current& current, CUstream handle, CUstreamCaptureMode mode) {
  return BeginCapture(handle, std::make_shared<Graph>(), {}, mode, current);
}

CUresult cuStreamBeginCaptureToGraph(Current& current, State& state, CUstream handle,
                                     CUgraph target, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData*, size_t count,
                                     CUstreamCaptureMode mode) {
  std::shared_ptr<Graph> graph = state.graphs.Find(target);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> tail;
  for (std::size_t i = 0; i < count; ++i) {
    tail.push_back(state.nodes.Find(dependencies[i]).get());
    if (!graph->Owns(tail.back())) return CUDA_ERROR_INVALID_VALUE;
  }
  return BeginCapture(handle, std::move(graph), std::move(tail), mode, current);
}

CUresult cuStreamEndCapture(Current& current, State& state, CUstream handle, CUgraph* graph) {
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
  EndCapture(state, *capture);
  if (capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  *graph = HandleOf(state, capture->graph);
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(Current& current, CUstream handle, CUstreamCaptureStatus* status) {
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, handle, &stream));
  *status = stream->capture == nullptr     ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                           : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v3(Current& current, State& state, CUstream handle,
                                   CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                                   size_t* count) {
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, handle, &stream));
  Capture* capture = stream->capture.get();
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (count != nullptr) *count = 0;
  if (edges != nullptr) *edges = nullptr;
  if (capture == nullptr) return CUDA_SUCCESS;
  *status =
      capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (id != nullptr) *id = capture->id;
  if (capture->invalidated) return CUDA_SUCCESS;
  if (graph != nullptr) *graph = HandleOf(state, capture->graph);
  // Thread-local: valid until the next call for the stream, as documented for the real driver.
  thread_local std::vector<CUgraphNode> tail;
  tail.clear();
  for (const GraphNode* node : stream->tail) tail.push_back(node->handle);
  if (dependencies != nullptr) *dependencies = tail.data();
  if (count != nullptr) *count = tail.size();
  return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies(Current& current, State& state, CUstream handle,
                                           CUgraphNode* dependencies, size_t count,
                                           unsigned flags) {
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, handle, &stream));
  if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) stream->tail.clear();
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* node = state.nodes.Find(dependencies[i]).get();
    if (!stream->capture->graph->Owns(node)) return CUDA_ERROR_INVALID_VALUE;
    stream->tail.push_back(node);
  }
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, ThreadState::Get().capture_mode);
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
