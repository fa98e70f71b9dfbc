// Streams that wait for values in memory and write them, and advice about managed memory.
#include "calls.h"
#include "executor.h"
#include "graph.h"
#include "transfer.h"

namespace fakecuda {
namespace {

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
CUresult WaitValue(CUstream handle, CUdeviceptr address, Word value, unsigned flags) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  const unsigned how = flags & 3;
  std::shared_ptr<Stream> stream;
  const CUresult found = FindStream(current, handle, &stream);
  if (found != CUDA_SUCCESS) return found;
  if (address % sizeof(Word) != 0 || Locate(state, address, true) == Place::kNowhere) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (stream->capture != nullptr) {
    Invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  const int device = stream->context->device;
  // An address that is not mapped ends the wait, and the run that follows fails.
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
CUresult WriteValue(CUstream handle, CUdeviceptr address, Word value) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  std::shared_ptr<Stream> stream;
  const CUresult found = FindStream(current, handle, &stream);
  if (found != CUDA_SUCCESS) return found;
  if (address % sizeof(Word) != 0 || Locate(State::Get(), address, true) == Place::kNowhere) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (stream->capture != nullptr) {
    Invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  const auto run = [address, value](Execution& execution) {
    char* memory = execution.Range(address, sizeof(Word), true);
    if (memory == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
    __atomic_store_n(reinterpret_cast<Word*>(memory), value, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
  };
  return Submit(current.lock, *stream, {.engine = Engine::kCompute, .run = run});
}

CUresult CheckManaged(CUdeviceptr pointer, std::size_t bytes) {
  const StateLock lock(State::Get().mutex);
  const Reservation* where = State::Get().addresses.FindReservation(pointer);
  return where != nullptr && where->kind == MemoryKind::kManaged && bytes > 0
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

namespace calls {

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                unsigned flags) {
  return WaitValue<std::uint32_t>(stream, address, value, flags);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                unsigned flags) {
  return WaitValue<std::uint64_t>(stream, address, value, flags);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  return WriteValue<std::uint32_t>(stream, address, value);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned) {
  return WriteValue<std::uint64_t>(stream, address, value);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams* list,
                               unsigned flags) {
  if (list == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    const CUstreamBatchMemOpParams& one = list[i];
    CUresult result = CUDA_ERROR_NOT_SUPPORTED;
    switch (one.operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        result = WaitValue<std::uint32_t>(stream, one.waitValue.address, one.waitValue.value,
                                          one.waitValue.flags);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        result = WaitValue<std::uint64_t>(stream, one.waitValue.address, one.waitValue.value64,
                                          one.waitValue.flags);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        result = WriteValue<std::uint32_t>(stream, one.writeValue.address, one.writeValue.value);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        result = WriteValue<std::uint64_t>(stream, one.writeValue.address, one.writeValue.value64);
        break;
      default:
        break;
    }
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemAdvise(CUdeviceptr pointer, size_t bytes, CUmem_advise, CUdevice) {
  return CheckManaged(pointer, bytes);
}

CUresult cuMemAdvise_v2(CUdeviceptr pointer, size_t bytes, CUmem_advise, CUmemLocation) {
  return CheckManaged(pointer, bytes);
}

CUresult cuMemPrefetchAsync(CUdeviceptr pointer, size_t bytes, CUdevice, CUstream) {
  return CheckManaged(pointer, bytes);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr pointer, size_t bytes, CUmemLocation, unsigned,
                               CUstream) {
  return CheckManaged(pointer, bytes);
}

}  // namespace calls
}  // namespace fakecuda
