// Streams, host functions, and waiting for and writing values.
#include <algorithm>

#include "fakecuda/executor.h"
#include "fakecuda/graph.h"
#include "fakecuda/memory.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

// Synchronising a capturing stream invalidates the capture.
CUresult CheckMayWait(const Stream& stream) {
  if (stream.capture != nullptr) {
    if (stream.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    Invalidate(*stream.capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CheckUnsafeCall(State::Get());
}

// Stores `get(stream)` in `*value`.
template <typename Value, typename Get>
CUresult Read(Current& current, CUstream handle, Value* value, Get get) {
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, handle, &stream));
  *value = get(*stream);
  return CUDA_SUCCESS;
}

// A host function, which may not call the driver.
CUresult CallHost(const std::function<void()>& function) {
  ThreadState::Get().in_callback = true;
  function();
  ThreadState::Get().in_callback = false;
  return CUDA_SUCCESS;
}

template <typename Word>
bool Compare(Word found, Word value, unsigned how) {
  using Signed = std::make_signed_t<Word>;
  switch (how) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<Signed>(found - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return found == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (found & value) != 0;
    default:
      return ~(found | value) != 0;
  }
}

template <typename Word>
CUresult FindStreamForValue(Current& current, CUstream handle, CUdeviceptr address,
                            std::shared_ptr<Stream>* stream) {
  RETURN_IF_ERROR(FindStream(current, handle, stream));
  if (address % sizeof(Word) != 0 ||
      ClassifyPointer(State::Get(), address, true) == PointerKind::kUnknown) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CheckNotCapturing(**stream);
}

template <typename Word>
CUresult WaitValue(Current& current, CUstream handle, CUdeviceptr address, Word value,
                   unsigned flags) {
  const unsigned how = flags & 3;
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStreamForValue<Word>(current, handle, address, &stream));
  const int device = stream->context->device;
  // An unmapped address ends the wait; the execution then fails.
  const auto ready = [address, value, how, device] {
    const char* memory = State::Get().addresses.Translate(device, address, sizeof(Word), false);
    if (memory == nullptr) return true;
    const Word now = __atomic_load_n(reinterpret_cast<const Word*>(memory), __ATOMIC_ACQUIRE);
    return Compare<Word>(now, value, how);
  };
  const auto run = [address](Execution& execution) {
    return execution.Range(address, sizeof(Word), false) == nullptr ? CUDA_ERROR_ILLEGAL_ADDRESS
                                                                    : CUDA_SUCCESS;
  };
  return Submit(current.lock, *stream,
                {.engine = Engine::kCompute, .run = run, .ready = ready, .polled = true});
}

template <typename Word>
CUresult WriteValue(Current& current, CUstream handle, CUdeviceptr address, Word value) {
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStreamForValue<Word>(current, handle, address, &stream));
  const auto run = [address, value](Execution& execution) {
    char* memory = execution.Range(address, sizeof(Word), true);
    if (memory == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
    __atomic_store_n(reinterpret_cast<Word*>(memory), value, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
  };
  return Submit(current.lock, *stream, {.engine = Engine::kCompute, .run = run});
}

}  // namespace

namespace calls {

CUresult cuStreamCreateWithPriority(Current& current, State& state, CUstream* handle,
                                    unsigned flags, int priority) {
  if (handle == nullptr || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
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

CUresult cuStreamDestroy_v2(State& state, CUstream handle) {
  const std::shared_ptr<Stream> stream = state.streams.Find(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const std::shared_ptr<Capture> capture = std::move(stream->capture)) {
    Invalidate(*capture);
    capture->streams.erase(stream.get());
    if (capture->origin == stream.get()) EndCapture(state, *capture);
  }
  state.streams.Remove(handle);
  stream->handle = nullptr;  // queued work still runs
  if (stream->queue.empty()) stream->context->streams.erase(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(Current& current, CUstream handle) {
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, handle, &stream));
  RETURN_IF_ERROR(CheckMayWait(*stream));
  const CUresult result = WaitForStream(current.lock, *stream);
  TrimPools(current.lock);
  return result;
}

CUresult cuStreamQuery(Current& current, CUstream handle) {
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, handle, &stream));
  RETURN_IF_ERROR(CheckMayWait(*stream));
  return Idle(*stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamGetPriority(Current& current, CUstream handle, int* priority) {
  return Read(current, handle, priority, [](const Stream& stream) { return stream.priority; });
}

CUresult cuStreamGetFlags(Current& current, CUstream handle, unsigned* flags) {
  return Read(current, handle, flags, [](const Stream& stream) { return stream.flags; });
}

CUresult cuStreamGetId(Current& current, CUstream handle, unsigned long long* id) {
  return Read(current, handle, id, [](const Stream& stream) { return stream.id; });
}

CUresult cuStreamGetCtx(Current& current, CUstream handle, CUcontext* context) {
  return Read(current, handle, context,
              [](const Stream& stream) { return stream.context->handle; });
}

CUresult cuStreamGetCtx_v2(Current& current, CUstream handle, CUcontext* context,
                           CUgreenCtx* green) {
  if (green != nullptr) *green = nullptr;
  return calls::cuStreamGetCtx(current, handle, context);
}

CUresult cuStreamGetDevice(Current& current, CUstream handle, CUdevice* device) {
  return Read(current, handle, device, [](const Stream& stream) { return stream.context->device; });
}

CUresult cuLaunchHostFunc(Current& current, CUstream handle, CUhostFn function, void* data) {
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, handle, &stream));
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto run = [function, data](Execution&) {
    return CallHost([function, data] { function(data); });
  };
  return Issue(current.lock, *stream, {.engine = Engine::kHost, .run = run});
}

CUresult cuStreamAddCallback(Current& current, CUstream handle, CUstreamCallback callback,
                             void* data, unsigned flags) {
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, handle, &stream));
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  RETURN_IF_ERROR(CheckNotCapturing(*stream));
  const auto run = [handle, callback, data](Execution& execution) {
    CUresult status = CUDA_SUCCESS;
    {
      const StateLock lock(State::Get().mutex);
      status = execution.context()->failed;
    }
    return CallHost([=] { callback(handle, status, data); });
  };
  return Submit(current.lock, *stream,
                {.engine = Engine::kHost, .run = run, .runs_after_failure = true});
}

CUresult cuStreamWaitValue32_v2(Current& current, CUstream stream, CUdeviceptr address,
                                cuuint32_t value, unsigned flags) {
  return WaitValue(current, stream, address, value, flags);
}

CUresult cuStreamWaitValue64_v2(Current& current, CUstream stream, CUdeviceptr address,
                                cuuint64_t value, unsigned flags) {
  return WaitValue(current, stream, address, value, flags);
}

CUresult cuStreamBatchMemOp_v2(Current& current, CUstream stream, unsigned count,
                               CUstreamBatchMemOpParams* operations, unsigned flags) {
  if (operations == nullptr || count > 256 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CUresult result = CUDA_SUCCESS;
  for (unsigned i = 0; i < count && result == CUDA_SUCCESS; ++i) {
    const auto& wait = operations[i].waitValue;
    const auto& write = operations[i].writeValue;
    switch (operations[i].operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        result = WaitValue(current, stream, wait.address, wait.value, wait.flags);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        result = WaitValue(current, stream, wait.address, wait.value64, wait.flags);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        result = WriteValue(current, stream, write.address, write.value);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        result = WriteValue(current, stream, write.address, write.value64);
        break;
      default:  // a flush or a barrier: memory operations of a stream are ordered here
        break;
    }
  }
  return result;
}

CUresult cuStreamWriteValue32_v2(Current& current, CUstream stream, CUdeviceptr address,
                                 cuuint32_t value, unsigned) {
  return WriteValue(current, stream, address, value);
}

CUresult cuStreamWriteValue64_v2(Current& current, CUstream stream, CUdeviceptr address,
                                 cuuint64_t value, unsigned) {
  return WriteValue(current, stream, address, value);
}

}  // namespace calls
}  // namespace fakecuda
