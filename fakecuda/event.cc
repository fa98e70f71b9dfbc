// Events.
#include <algorithm>
#include <cstring>

#include "fakecuda/executor.h"
#include "fakecuda/graph.h"
#include "fakecuda/memory.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

// Returns the latest record; nullptr if never recorded.
std::shared_ptr<EventRecord> CurrentRecord(State& state, const Event& event) {
  if (event.shared == nullptr) return event.record;
  auto record = std::make_shared<EventRecord>();
  record->shared = event.shared;
  record->generation = state.card->SharedEventRecorded(event.shared);
  return record;
}

bool IsDone(const EventRecord& record) {
  if (record.shared == nullptr) return record.done;
  return State::Get().card->SharedEventDone(record.shared, record.generation);
}

// Creates a new record of the event; CompleteWork() completes it.
std::shared_ptr<EventRecord> NewRecord(State& state, Event& event) {
  auto record = std::make_shared<EventRecord>();
  if (event.shared != nullptr) {
    record->shared = event.shared;
    record->generation = state.card->RecordSharedEvent(event.shared);
  }
  event.record = record;
  event.capture = nullptr;
  event.captured_tail.clear();
  return record;
}

Work CompleteWork(std::shared_ptr<EventRecord> record) {
  const auto run = [record = std::move(record)](Execution&) {
    record->done = true;
    record->time = NowNanoseconds();
    if (record->shared != nullptr) {
      State::Get().card->CompleteSharedEvent(record->shared, record->generation);
    }
    return CUDA_SUCCESS;
  };
  return {.engine = Engine::kInstant, .run = run, .runs_after_failure = true};
}

constexpr unsigned kFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

// Finds an event that may be queried, unlike one recorded in a capture.
CUresult FindQueryable(State& state, CUevent handle, std::shared_ptr<Event>* found) {
  *found = state.events.Find(handle);
  if (*found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  RETURN_IF_ERROR((*found)->context->failed);
  if ((*found)->capture != nullptr) {
    Invalidate(*(*found)->capture);
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  return CheckUnsafeCall(state);
}

}  // namespace

namespace calls {

CUresult cuEventCreate(Current& current, State& state, CUevent* handle, unsigned flags) {
  if (handle == nullptr || (flags & ~kFlags) != 0 ||
      ((flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
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

CUresult cuEventDestroy_v2(State& state, CUevent handle) {
  const std::shared_ptr<Event> event = state.events.Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // The process keeps the shared slot: others may still wait for its records.
  state.events.Remove(handle);
  return CUDA_SUCCESS;
}

CUresult cuEventRecordWithFlags(Current& current, State& state, CUevent handle,
                                CUstream stream_handle, unsigned flags) {
  const std::shared_ptr<Event> event = state.events.Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags != CU_EVENT_RECORD_DEFAULT && flags != CU_EVENT_RECORD_EXTERNAL) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, stream_handle, &stream));
  if (stream->context != event->context) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) {
    if (stream->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    event->capture = stream->capture;
    event->captured_tail = stream->tail;
    return CUDA_SUCCESS;
  }
  return Submit(current.lock, *stream, CompleteWork(NewRecord(state, *event)));
}

CUresult cuEventQuery(State& state, CUevent handle) {
  std::shared_ptr<Event> event;
  RETURN_IF_ERROR(FindQueryable(state, handle, &event));
  const std::shared_ptr<EventRecord> record = CurrentRecord(state, *event);
  return record == nullptr || IsDone(*record) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(State& state, StateLock& lock, CUevent handle) {
  std::shared_ptr<Event> event;
  RETURN_IF_ERROR(FindQueryable(state, handle, &event));
  const std::shared_ptr<EventRecord> record = CurrentRecord(state, *event);
  if (record != nullptr) WaitUntil(lock, [&] { return IsDone(*record); });
  TrimPools(lock);
  return event->context->failed;
}

CUresult cuEventElapsedTime_v2(State& state, float* milliseconds, CUevent from_handle,
                               CUevent to_handle) {
  const std::shared_ptr<Event> from = state.events.Find(from_handle);
  const std::shared_ptr<Event> to = state.events.Find(to_handle);
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (from == nullptr || to == nullptr || from->record == nullptr || to->record == nullptr ||
      ((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (!from->record->done || !to->record->done) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(static_cast<double>(to->record->time) / 1e6 -
                                     static_cast<double>(from->record->time) / 1e6);
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(Current& current, State& state, CUstream handle, CUevent event_handle,
                           unsigned) {
  std::shared_ptr<Stream> found;
  RETURN_IF_ERROR(FindStream(current, handle, &found));
  Stream& stream = *found;
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
      if (std::ranges::find(stream.tail, node) == stream.tail.end()) {
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
  const std::shared_ptr<EventRecord> record = CurrentRecord(state, *event);
  if (record == nullptr) return CUDA_SUCCESS;
  return Submit(current.lock, stream,
                {.engine = Engine::kInstant,
                 .ready = [record] { return IsDone(*record); },
                 .polled = record->shared != nullptr});
}

CUresult cuIpcGetEventHandle(State& state, CUipcEventHandle* handle, CUevent event_handle) {
  const std::shared_ptr<Event> event = state.events.Find(event_handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (handle == nullptr || event->shared == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle->reserved, &event->shared->id, sizeof event->shared->id);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(Current& current, State& state, CUevent* opened,
                              CUipcEventHandle handle) {
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

CUresult cuCtxRecordEvent(State& state, StateLock& lock, CUcontext context_handle,
                          CUevent event_handle) {
  Context* context = state.FindContext(context_handle);
  const std::shared_ptr<Event> event = state.events.Find(event_handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (event == nullptr || event->context != context) return CUDA_ERROR_INVALID_HANDLE;
  RETURN_IF_ERROR(context->failed);
  RETURN_IF_ERROR(CheckNoCapture(state, *context));
  // Completes when all previously submitted work is done, in any stream.
  const std::uint64_t before = state.next_sequence - 1;
  Work work = CompleteWork(NewRecord(state, *event));
  auto recorder = std::make_shared<Stream>();
  work.ready = [context, before, own = recorder.get()] {
    return std::all_of(context->streams.begin(), context->streams.end(), [&](const auto& stream) {
      return stream.get() == own || stream->queue.empty() ||
             stream->queue.front().sequence > before;
    });
  };
  recorder->context = context;
  recorder->flags = CU_STREAM_NON_BLOCKING;
  context->streams.insert(recorder);  // without a handle: removed when its work is done
  return Submit(lock, *recorder, std::move(work));
}

}  // namespace calls
}  // namespace fakecuda
