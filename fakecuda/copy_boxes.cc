// Copies of boxes and to and from arrays, and batches of copies.
#include <algorithm>
#include <tuple>

#include "boxes.h"
#include "calls.h"
#include "transfer.h"

namespace fakecuda {
namespace {

// One side of a copy: its kind, its addresses and how it lies in memory.
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

CUresult CopyBoxes(const CUDA_MEMCPY3D* copy, CUstream stream, Wait wait) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Transfer transfer;
  const CUresult result = MakeTransfer(State::Get(), *copy, &transfer);
  if (result != CUDA_SUCCESS) return result;
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

// Bytes of an array from `offset` on: arrays that are copied so have one row.
CUresult CopyArray(CUarray to_array, std::size_t to_offset, CUdeviceptr to, CUarray from_array,
                   std::size_t from_offset, CUdeviceptr from, std::size_t bytes, CUstream stream,
                   Wait wait) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
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

CUresult MakeTransfer(const State& state, const CUDA_MEMCPY3D& copy, Transfer* transfer) {
  const std::size_t height = std::max<std::size_t>(1, copy.Height);
  transfer->width = copy.WidthInBytes;
  transfer->height = height;
  transfer->depth = std::max<std::size_t>(1, copy.Depth);
  const Side from = {
      copy.srcMemoryType, copy.srcHost,     copy.srcDevice,
      copy.srcArray,      copy.srcXInBytes, copy.srcY,
      copy.srcZ,          copy.srcPitch,    copy.srcHeight == 0 ? height : copy.srcHeight};
  const Side to = {
      copy.dstMemoryType, copy.dstHost,     copy.dstDevice,
      copy.dstArray,      copy.dstXInBytes, copy.dstY,
      copy.dstZ,          copy.dstPitch,    copy.dstHeight == 0 ? height : copy.dstHeight};
  const CUresult result = MakeBox(state, from, transfer->width, &transfer->from);
  if (result != CUDA_SUCCESS) return result;
  return MakeBox(state, to, transfer->width, &transfer->to);
}

namespace calls {

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY3D box = Flat(*copy);
  return CopyBoxes(&box, nullptr, Wait::kYes);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) { return calls::cuMemcpy2D_v2(copy); }

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY3D box = Flat(*copy);
  return CopyBoxes(&box, stream, Wait::kNo);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) { return CopyBoxes(copy, nullptr, Wait::kYes); }

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return CopyBoxes(copy, stream, Wait::kNo);
}

CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void* from, size_t bytes) {
  return CopyArray(to, offset, 0, nullptr, 0, AsAddress(from), bytes, nullptr, Wait::kYes);
}

CUresult cuMemcpyAtoH_v2(void* to, CUarray from, size_t offset, size_t bytes) {
  return CopyArray(nullptr, 0, AsAddress(to), from, offset, 0, bytes, nullptr, Wait::kYes);
}

CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void* from, size_t bytes,
                              CUstream stream) {
  return CopyArray(to, offset, 0, nullptr, 0, AsAddress(from), bytes, stream, Wait::kNo);
}

CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, size_t offset, size_t bytes,
                              CUstream stream) {
  return CopyArray(nullptr, 0, AsAddress(to), from, offset, 0, bytes, stream, Wait::kNo);
}

CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
  return CopyArray(to, offset, 0, nullptr, 0, from, bytes, nullptr, Wait::kYes);
}

CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
  return CopyArray(nullptr, 0, to, from, offset, 0, bytes, nullptr, Wait::kYes);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                               CUmemcpyAttributes*, size_t*, size_t, CUstream stream) {
  if (to == nullptr || from == nullptr || bytes == nullptr || count == 0 || stream == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult result = calls::cuMemcpyAsync(to[i], from[i], bytes[i], stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
