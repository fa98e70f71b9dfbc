// Streams.
#include <algorithm>

#include "calls.h"
#include "event.h"
#include "executor.h"
#include "graph.h"
#include "pool.h"

namespace fakecuda {
namespace {

struct Found {
  Current current;
  std::shared_ptr<Stream> stream;
  CUresult result = CUDA_SUCCESS;
};

Found Find(CUstream handle) {
  Found found{.current = EnterContext(), .stream = nullptr};
  found.result = found.current.result;
  if (found.result == CUDA_SUCCESS) {
    found.result = FindStream(found.current, handle, &found.stream);
  }
  return found;
}

// Waiting for a stream that captures spoils the capture.
CUresult CheckMayWait(const Stream& stream) {
  if (stream.capture != nullptr) {
    if (stream.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    Invalidate(*stream.capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CheckUnsafeCall(State::Get());
}

// A host function. It may not call the driver.
CUresult CallHost(const std::function<void()>& function) {
  ThreadState::Get().in_callback = true;
  function();
  ThreadState::Get().in_callback = false;
  return CUDA_SUCCESS;
}

}  // namespace

namespace calls {

CUresult cuStreamCreateWithPriority(CUstream* handle, unsigned flags, int priority) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (handle == nullptr || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  State& state = State::Get();
  auto stream = std::make_shared<Stream>();
  stream->context = current.context;
  stream->flags = flags;
  stream->priority = std::max(-5, std::min(0, priority));
  stream->id = state.next_id++;
  stream->handle = state.streams.Add(stream);
  *handle = stream->handle;
  current.context->streams.insert(std::move(stream));
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* handle, unsigned flags) {
  return calls::cuStreamCreateWithPriority(handle, flags, 0);
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  const std::shared_ptr<Stream> stream = state.streams.Find(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) {
    Capture& capture = *stream->capture;
    Invalidate(capture);
    capture.streams.erase(stream.get());
    if (capture.origin == stream.get()) {
      for (Stream* member : capture.streams) {
        member->capture = nullptr;
        member->tail.clear();
      }
      state.captures.erase(capture.id);
    }
    stream->capture = nullptr;
  }
  state.streams.Remove(handle);
  stream->handle = nullptr;  // what is queued is still done
  if (stream->queue.empty()) stream->context->streams.erase(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream handle) {
  Found found = Find(handle);
  if (found.result != CUDA_SUCCESS) return found.result;
  const CUresult may = CheckMayWait(*found.stream);
  if (may != CUDA_SUCCESS) return may;
  const CUresult result = WaitForStream(found.current.lock, *found.stream);
  TrimPools(found.current.lock);
  return result;
}

CUresult cuStreamQuery(CUstream handle) {
  const Found found = Find(handle);
  if (found.result != CUDA_SUCCESS) return found.result;
  const CUresult may = CheckMayWait(*found.stream);
  if (may != CUDA_SUCCESS) return may;
  return Idle(*found.stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  const Found found = Find(handle);
  if (found.result == CUDA_SUCCESS) *priority = found.stream->priority;
  return found.result;
}

CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  const Found found = Find(handle);
  if (found.result == CUDA_SUCCESS) *flags = found.stream->flags;
  return found.result;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  const Found found = Find(handle);
  if (found.result == CUDA_SUCCESS) *id = found.stream->id;
  return found.result;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  const Found found = Find(handle);
  if (found.result == CUDA_SUCCESS) *context = found.stream->context->handle;
  return found.result;
}

CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
  if (green != nullptr) *green = nullptr;
  return calls::cuStreamGetCtx(handle, context);
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  const Found found = Find(handle);
  if (found.result == CUDA_SUCCESS) *device = found.stream->context->device;
  return found.result;
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned) {
  Found found = Find(handle);
  if (found.result != CUDA_SUCCESS) return found.result;
  State& state = State::Get();
  Stream& stream = *found.stream;
  const std::shared_ptr<Event> event = state.events.Find(event_handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture != nullptr) {
    const std::shared_ptr<Capture> capture = event->capture;
    if (capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!state.captures.contains(capture->id)) return CUDA_ERROR_CAPTURED_EVENT;
    if (stream.capture != nullptr && stream.capture != capture) {
      Invalidate(*capture);
      Invalidate(*stream.capture);
      return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (stream.legacy) {
      Invalidate(*capture);
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    stream.capture = capture;
    capture->streams.insert(&stream);
    for (GraphNode* node : event->captured_tail) {
      if (std::find(stream.tail.begin(), stream.tail.end(), node) == stream.tail.end()) {
        stream.tail.push_back(node);
      }
    }
    return CUDA_SUCCESS;
  }
  if (stream.capture != nullptr) {
    if (stream.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    Invalidate(*stream.capture);
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  const std::shared_ptr<Marker> marker = CurrentMarker(state, *event);
  if (marker == nullptr) return CUDA_SUCCESS;
  return Submit(found.current.lock, stream,
                {.engine = Engine::kInstant,
                 .ready = [marker] { return IsDone(*marker); },
                 .polled = marker->shared != nullptr});
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  Found found = Find(handle);
  if (found.result != CUDA_SUCCESS) return found.result;
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Operation operation;
  operation.engine = Engine::kHost;
  operation.type = CU_GRAPH_NODE_TYPE_HOST;
  operation.host = {function, data};
  operation.run = [function, data](Execution&) {
    return CallHost([function, data] { function(data); });
  };
  return Issue(found.current.lock, *found.stream, std::move(operation));
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* data,
                             unsigned flags) {
  Found found = Find(handle);
  if (found.result != CUDA_SUCCESS) return found.result;
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (found.stream->capture != nullptr) {
    Invalidate(*found.stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  const auto run = [handle, callback, data](Execution& execution) {
    CUresult status = CUDA_SUCCESS;
    {
      const StateLock lock(State::Get().mutex);
      status = execution.context()->failed;
    }
    return CallHost([=] { callback(handle, status, data); });
  };
  return Submit(found.current.lock, *found.stream,
                {.engine = Engine::kHost, .run = run, .even_after_failure = true});
}

CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr pointer, size_t, unsigned) {
  const Found found = Find(handle);
  if (found.result != CUDA_SUCCESS) return found.result;
  const Reservation* where = State::Get().addresses.FindReservation(pointer);
  return where != nullptr && where->kind == MemoryKind::kManaged ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace calls
}  // namespace fakecuda
