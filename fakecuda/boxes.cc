// Arrays (device memory without an address for the program), and 2D, 3D and array copies.
#include <algorithm>
#include <tuple>

#include "fakecuda/executor.h"
#include "fakecuda/graph.h"
#include "fakecuda/memory.h"
#include "generated/fakecuda/calls.h"

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

std::size_t ArrayPitch(const Array& array) {
  return array.descriptor.Width * ElementBytes(array.descriptor.Format) *
         array.descriptor.NumChannels;
}

std::size_t ArrayBytes(const Array& array) {
  return ArrayPitch(array) * std::max<std::size_t>(1, array.descriptor.Height) *
         std::max<std::size_t>(1, array.descriptor.Depth);
}

// One side of a copy: kind, address and layout.
struct Side {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  std::size_t x, y, z, pitch, height;
};

CUresult MakeBox(const State& state, const Side& side, std::size_t width, Box* box) {
  std::size_t pitch = side.pitch == 0 ? width : side.pitch;
  std::size_t height = side.height;
  CUdeviceptr start = side.device;
  if (side.type == CU_MEMORYTYPE_HOST) {
    start = AsAddress(side.host);
  } else if (side.type == CU_MEMORYTYPE_ARRAY) {
    const std::shared_ptr<Array> array = state.arrays.Find(side.array);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    start = array->memory;
    pitch = ArrayPitch(*array);
    height = std::max<std::size_t>(1, array->descriptor.Height);
  } else if (side.type != CU_MEMORYTYPE_DEVICE && side.type != CU_MEMORYTYPE_UNIFIED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (pitch < width || start == 0) return CUDA_ERROR_INVALID_VALUE;
  box->pitch = pitch;
  box->layer = pitch * height;
  box->start = start + side.z * box->layer + side.y * pitch + side.x;
  return CUDA_SUCCESS;
}

CUresult CopyBoxes(Current& current, const CUDA_MEMCPY3D* copy, CUstream stream, Wait wait) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const State& state = State::Get();
  Transfer transfer;
  const std::size_t height = std::max<std::size_t>(1, copy->Height);
  transfer.width = copy->WidthInBytes;
  transfer.height = height;
  transfer.depth = std::max<std::size_t>(1, copy->Depth);
  const Side from = {
      copy->srcMemoryType, copy->srcHost,     copy->srcDevice,
      copy->srcArray,      copy->srcXInBytes, copy->srcY,
      copy->srcZ,          copy->srcPitch,    copy->srcHeight == 0 ? height : copy->srcHeight};
  const Side to = {
      copy->dstMemoryType, copy->dstHost,     copy->dstDevice,
      copy->dstArray,      copy->dstXInBytes, copy->dstY,
      copy->dstZ,          copy->dstPitch,    copy->dstHeight == 0 ? height : copy->dstHeight};
  RETURN_IF_ERROR(MakeBox(state, from, transfer.width, &transfer.from));
  RETURN_IF_ERROR(MakeBox(state, to, transfer.width, &transfer.to));
  if (!MayCopy(current, transfer.to.start) || !MayCopy(current, transfer.from.start)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return IssueCopy(current, stream, transfer, wait);
}

CUDA_MEMCPY3D Flat(const CUDA_MEMCPY2D& copy) {
  CUDA_MEMCPY3D box = {};
  box.srcMemoryType = copy.srcMemoryType;
  box.srcHost = copy.srcHost;
  box.srcDevice = copy.srcDevice;
  box.srcArray = copy.srcArray;
  box.srcXInBytes = copy.srcXInBytes;
  box.srcY = copy.srcY;
  box.srcPitch = copy.srcPitch;
  box.dstMemoryType = copy.dstMemoryType;
  box.dstHost = copy.dstHost;
  box.dstDevice = copy.dstDevice;
  box.dstArray = copy.dstArray;
  box.dstXInBytes = copy.dstXInBytes;
  box.dstY = copy.dstY;
  box.dstPitch = copy.dstPitch;
  box.WidthInBytes = copy.WidthInBytes;
  box.Height = copy.Height;
  box.Depth = 1;
  return box;
}

// Returns the region of a one-row array from byte `offset` on.
CUresult CopyArray(Current& current, CUarray to_array, std::size_t to_offset, CUdeviceptr to,
                   CUarray from_array, std::size_t from_offset, CUdeviceptr from, std::size_t bytes,
                   CUstream stream, Wait wait) {
  const State& state = State::Get();
  for (const auto& [handle, offset, address] :
       {std::tuple{to_array, to_offset, &to}, std::tuple{from_array, from_offset, &from}}) {
    if (handle == nullptr) continue;
    const std::shared_ptr<Array> array = state.arrays.Find(handle);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (offset + bytes > ArrayBytes(*array)) return CUDA_ERROR_INVALID_VALUE;
    *address = array->memory + offset;
  }
  return IssueCopy(current, stream, Linear(to, from, bytes), wait);
}

}  // namespace

namespace calls {

CUresult cuArray3DCreate_v2(Current& current, State& state, CUarray* handle,
                            const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  if (handle == nullptr || descriptor == nullptr || descriptor->Width == 0 ||
      ElementBytes(descriptor->Format) == 0 ||
      (descriptor->NumChannels != 1 && descriptor->NumChannels != 2 &&
       descriptor->NumChannels != 4)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  auto array = std::make_shared<Array>();
  array->context = current.context;
  array->descriptor = *descriptor;
  const std::uint64_t bytes = RoundUp(ArrayBytes(*array));
  RETURN_IF_ERROR(MakeMemory(current.lock, *current.context, current.context->device, bytes,
                             MemoryKind::kNative, &array->memory));
  *handle = state.arrays.Add(std::move(array));
  return CUDA_SUCCESS;
}

CUresult cuArrayCreate_v2(Current& current, State& state, CUarray* handle,
                          const CUDA_ARRAY_DESCRIPTOR* flat) {
  if (flat == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = flat->Width;
  descriptor.Height = flat->Height;
  descriptor.Format = flat->Format;
  descriptor.NumChannels = flat->NumChannels;
  return calls::cuArray3DCreate_v2(current, state, handle, &descriptor);
}

CUresult cuArrayGetDescriptor_v2(State& state, CUDA_ARRAY_DESCRIPTOR* descriptor, CUarray handle) {
  const std::shared_ptr<Array> array = state.arrays.Find(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *descriptor = {array->descriptor.Width, array->descriptor.Height, array->descriptor.Format,
                 array->descriptor.NumChannels};
  return CUDA_SUCCESS;
}

CUresult cuArrayDestroy(Current& current, State& state, CUarray handle) {
  const std::shared_ptr<Array> array = state.arrays.Find(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  WaitForDevice(current.lock, array->context->device);
  state.arrays.Remove(handle);
  ReleaseRange(current.lock, array->memory);
  return CUDA_SUCCESS;
}

CUresult cuMemcpy2D_v2(Current& current, const CUDA_MEMCPY2D* copy) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY3D box = Flat(*copy);
  return CopyBoxes(current, &box, nullptr, Wait::kYes);
}

CUresult cuMemcpy2DAsync_v2(Current& current, const CUDA_MEMCPY2D* copy, CUstream stream) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY3D box = Flat(*copy);
  return CopyBoxes(current, &box, stream, Wait::kNo);
}

CUresult cuMemcpy3D_v2(Current& current, const CUDA_MEMCPY3D* copy) {
  return CopyBoxes(current, copy, nullptr, Wait::kYes);
}

CUresult cuMemcpy3DAsync_v2(Current& current, const CUDA_MEMCPY3D* copy, CUstream stream) {
  return CopyBoxes(current, copy, stream, Wait::kNo);
}

CUresult cuMemcpyHtoA_v2(Current& current, CUarray to, size_t offset, const void* from,
                         size_t bytes) {
  return CopyArray(current, to, offset, 0, nullptr, 0, AsAddress(from), bytes, nullptr, Wait::kYes);
}

CUresult cuMemcpyAtoH_v2(Current& current, void* to, CUarray from, size_t offset, size_t bytes) {
  return CopyArray(current, nullptr, 0, AsAddress(to), from, offset, 0, bytes, nullptr, Wait::kYes);
}

CUresult cuMemcpyHtoAAsync_v2(Current& current, CUarray to, size_t offset, const void* from,
                              size_t bytes, CUstream stream) {
  return CopyArray(current, to, offset, 0, nullptr, 0, AsAddress(from), bytes, stream, Wait::kNo);
}

CUresult cuMemcpyAtoHAsync_v2(Current& current, void* to, CUarray from, size_t offset, size_t bytes,
                              CUstream stream) {
  return CopyArray(current, nullptr, 0, AsAddress(to), from, offset, 0, bytes, stream, Wait::kNo);
}

CUresult cuMemcpyDtoA_v2(Current& current, CUarray to, size_t offset, CUdeviceptr from,
                         size_t bytes) {
  return CopyArray(current, to, offset, 0, nullptr, 0, from, bytes, nullptr, Wait::kYes);
}

CUresult cuMemcpyAtoD_v2(Current& current, CUdeviceptr to, CUarray from, size_t offset,
                         size_t bytes) {
  return CopyArray(current, nullptr, 0, to, from, offset, 0, bytes, nullptr, Wait::kYes);
}

}  // namespace calls
}  // namespace fakecuda
