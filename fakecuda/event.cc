#include "event.h"

#include <algorithm>
#include <cstring>

#include "calls.h"
#include "executor.h"
#include "graph.h"
#include "pool.h"

namespace fakecuda {

std::shared_ptr<Marker> CurrentMarker(State& state, const Event& event) {
  if (event.shared == nullptr) return event.marker;
  auto marker = std::make_shared<Marker>();
  marker->shared = event.shared;
  marker->generation = state.card->SharedEventRecorded(event.shared);
  return marker;
}

bool IsDone(const Marker& marker) {
  if (marker.shared == nullptr) return marker.done;
  return State::Get().card->SharedEventDone(marker.shared, marker.generation);
}

std::shared_ptr<Marker> NewMarker(State& state, Event& event) {
  auto marker = std::make_shared<Marker>();
  if (event.shared != nullptr) {
    marker->shared = event.shared;
    marker->generation = state.card->RecordSharedEvent(event.shared);
  }
  event.marker = marker;
  event.capture = nullptr;
  event.captured_tail.clear();
  return marker;
}

Work CompleteWork(std::shared_ptr<Marker> marker) {
  Work work;
  work.engine = Engine::kInstant;
  work.even_after_failure = true;
  work.run = [marker = std::move(marker)](Execution&) {
    marker->done = true;
    marker->time = NowNanoseconds();
    if (marker->shared != nullptr) {
      State::Get().card->CompleteSharedEvent(marker->shared, marker->generation);
    }
    return CUDA_SUCCESS;
  };
  return work;
}

namespace {

constexpr unsigned kFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

// An event that was recorded in a capture has no recording to ask for.
CUresult CheckAskable(State& state, const Event& event) {
  if (event.capture != nullptr) {
    Invalidate(*event.capture);
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  return CheckUnsafeCall(state);
}

}  // namespace

namespace calls {

CUresult cuEventCreate(CUevent* handle, unsigned flags) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (handle == nullptr || (flags & ~kFlags) != 0 ||
      ((flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  State& state = State::Get();
  auto event = std::make_shared<Event>();
  event->context = current.context;
  event->flags = flags;
  if ((flags & CU_EVENT_INTERPROCESS) != 0) {
    event->shared = state.card->NewSharedEvent();
    if (event->shared == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *handle = state.events.Add(std::move(event));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent handle) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  const std::shared_ptr<Event> event = state.events.Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // The shared slot stays with the process: recordings of it may still be waited for.
  state.events.Remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned flags) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  const std::shared_ptr<Event> event = state.events.Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags != CU_EVENT_RECORD_DEFAULT && flags != CU_EVENT_RECORD_EXTERNAL) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::shared_ptr<Stream> stream;
  const CUresult found = FindStream(current, stream_handle, &stream);
  if (found != CUDA_SUCCESS) return found;
  if (stream->context != event->context) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) {
    if (stream->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    event->capture = stream->capture;
    event->captured_tail = stream->tail;
    return CUDA_SUCCESS;
  }
  return Submit(current.lock, *stream, CompleteWork(NewMarker(state, *event)));
}

CUresult cuEventRecord(CUevent handle, CUstream stream) {
  return calls::cuEventRecordWithFlags(handle, stream, CU_EVENT_RECORD_DEFAULT);
}

CUresult cuEventQuery(CUevent handle) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  const std::shared_ptr<Event> event = state.events.Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->context->failed != CUDA_SUCCESS) return event->context->failed;
  const CUresult askable = CheckAskable(state, *event);
  if (askable != CUDA_SUCCESS) return askable;
  const std::shared_ptr<Marker> marker = CurrentMarker(state, *event);
  return marker == nullptr || IsDone(*marker) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent handle) {
  State& state = State::Get();
  StateLock lock(state.mutex);
  const std::shared_ptr<Event> event = state.events.Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->context->failed != CUDA_SUCCESS) return event->context->failed;
  const CUresult askable = CheckAskable(state, *event);
  if (askable != CUDA_SUCCESS) return askable;
  const std::shared_ptr<Marker> marker = CurrentMarker(state, *event);
  if (marker != nullptr) WaitUntil(lock, [&] { return IsDone(*marker); });
  TrimPools(lock);
  return event->context->failed;
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent from_handle, CUevent to_handle) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  const std::shared_ptr<Event> from = state.events.Find(from_handle);
  const std::shared_ptr<Event> to = state.events.Find(to_handle);
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (from == nullptr || to == nullptr || from->marker == nullptr || to->marker == nullptr ||
      ((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (!from->marker->done || !to->marker->done) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(static_cast<double>(to->marker->time) / 1e6 -
                                     static_cast<double>(from->marker->time) / 1e6);
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  return calls::cuEventElapsedTime_v2(milliseconds, from, to);
}

CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event_handle) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  const std::shared_ptr<Event> event = state.events.Find(event_handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (handle == nullptr || event->shared == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle->reserved, &event->shared->id, sizeof event->shared->id);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent* opened, CUipcEventHandle handle) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  std::uint64_t id = 0;
  std::memcpy(&id, handle.reserved, sizeof id);
  EventSlot* shared = state.card->HoldSharedEvent(id);
  if (opened == nullptr || shared == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto event = std::make_shared<Event>();
  event->context = current.context;
  event->flags = CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  event->shared = shared;
  *opened = state.events.Add(std::move(event));
  return CUDA_SUCCESS;
}

CUresult cuCtxRecordEvent(CUcontext context_handle, CUevent event_handle) {
  State& state = State::Get();
  StateLock lock(state.mutex);
  Context* context = state.FindContext(context_handle);
  const std::shared_ptr<Event> event = state.events.Find(event_handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (event == nullptr || event->context != context) return CUDA_ERROR_INVALID_HANDLE;
  if (context->failed != CUDA_SUCCESS) return context->failed;
  const CUresult captured = CheckNoCapture(state, *context);
  if (captured != CUDA_SUCCESS) return captured;
  // Done when all that was submitted before is done, whatever the stream.
  const std::uint64_t before = state.next_sequence - 1;
  Work work = CompleteWork(NewMarker(state, *event));
  auto recorder = std::make_shared<Stream>();
  work.ready = [context, before, own = recorder.get()] {
    return std::all_of(context->streams.begin(), context->streams.end(), [&](const auto& stream) {
      return stream.get() == own || stream->queue.empty() ||
             stream->queue.front().sequence > before;
    });
  };
  recorder->context = context;
  recorder->flags = CU_STREAM_NON_BLOCKING;
  context->streams.insert(recorder);  // without a handle: gone when its work is done
  return Submit(lock, *recorder, std::move(work));
}

CUresult cuCtxWaitEvent(CUcontext context_handle, CUevent event_handle) {
  State& state = State::Get();
  StateLock lock(state.mutex);
  Context* context = state.FindContext(context_handle);
  const std::shared_ptr<Event> event = state.events.Find(event_handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const CUresult captured = CheckNoCapture(state, *context);
  if (captured != CUDA_SUCCESS) return captured;
  const std::shared_ptr<Marker> marker = CurrentMarker(state, *event);
  if (marker == nullptr) return CUDA_SUCCESS;
  const auto streams = context->streams;
  for (const std::shared_ptr<Stream>& stream : streams) {
    const CUresult result = Submit(lock, *stream,
                                   {.engine = Engine::kInstant,
                                    .ready = [marker] { return IsDone(*marker); },
                                    .polled = marker->shared != nullptr});
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
