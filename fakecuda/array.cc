// Arrays: memory of the card without an address for the program.
#include <algorithm>

#include "boxes.h"
#include "calls.h"
#include "executor.h"
#include "graph.h"
#include "memory.h"

namespace fakecuda {
namespace {

std::size_t ElementBytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

std::size_t ArrayPitch(const Array& array) {
  return array.descriptor.Width * ElementBytes(array.descriptor.Format) *
         array.descriptor.NumChannels;
}

std::size_t ArrayBytes(const Array& array) {
  return ArrayPitch(array) * std::max<std::size_t>(1, array.descriptor.Height) *
         std::max<std::size_t>(1, array.descriptor.Depth);
}

namespace calls {

CUresult cuArray3DCreate_v2(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  if (handle == nullptr || descriptor == nullptr || descriptor->Width == 0 ||
      ElementBytes(descriptor->Format) == 0 ||
      (descriptor->NumChannels != 1 && descriptor->NumChannels != 2 &&
       descriptor->NumChannels != 4)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUresult unsafe = CheckUnsafeCall(state);
  if (unsafe != CUDA_SUCCESS) return unsafe;
  auto array = std::make_shared<Array>();
  array->descriptor = *descriptor;
  const std::uint64_t bytes = (ArrayBytes(*array) + kGranule - 1) / kGranule * kGranule;
  const CUresult result = MakeMemory(current.lock, *current.context, current.context->device, bytes,
                                     MemoryKind::kNative, &array->memory);
  if (result != CUDA_SUCCESS) return result;
  *handle = state.arrays.Add(std::move(array));
  return CUDA_SUCCESS;
}

CUresult cuArrayCreate_v2(CUarray* handle, const CUDA_ARRAY_DESCRIPTOR* flat) {
  if (flat == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = flat->Width;
  descriptor.Height = flat->Height;
  descriptor.Format = flat->Format;
  descriptor.NumChannels = flat->NumChannels;
  return calls::cuArray3DCreate_v2(handle, &descriptor);
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray handle) {
  const StateLock lock(State::Get().mutex);
  const std::shared_ptr<Array> array = State::Get().arrays.Find(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *descriptor = array->descriptor;
  return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* descriptor, CUarray handle) {
  const StateLock lock(State::Get().mutex);
  const std::shared_ptr<Array> array = State::Get().arrays.Find(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *descriptor = {array->descriptor.Width, array->descriptor.Height, array->descriptor.Format,
                 array->descriptor.NumChannels};
  return CUDA_SUCCESS;
}

CUresult cuArrayDestroy(CUarray handle) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  const std::shared_ptr<Array> array = state.arrays.Find(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CUresult unsafe = CheckUnsafeCall(state);
  if (unsafe != CUDA_SUCCESS) return unsafe;
  WaitForDevice(current.lock, current.context->device);
  state.arrays.Remove(handle);
  ReleaseRange(current.lock, array->memory);
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
