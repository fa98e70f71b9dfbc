// Copies and fills: the calls.
#include "calls.h"
#include "transfer.h"

namespace fakecuda::calls {
namespace {

// What a copy must have on its sides.
enum class Sides { kAny, kToDevice, kFromDevice, kOnDevice };

CUresult Copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Sides sides, CUstream stream,
              Wait wait) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  const State& state = State::Get();
  const bool to_device = sides == Sides::kToDevice || sides == Sides::kOnDevice;
  const bool from_device = sides == Sides::kFromDevice || sides == Sides::kOnDevice;
  if (bytes != 0 && (Locate(state, to, to_device) == Place::kNowhere ||
                     Locate(state, from, from_device) == Place::kNowhere || to == 0 || from == 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return IssueCopy(current, stream, Linear(to, from, bytes), wait);
}

CUresult Set(const Fill& fill, CUstream stream) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  return IssueFill(current, stream, fill);
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return Copy(to, from, bytes, Sides::kAny, nullptr, Wait::kYes);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return Copy(to, from, bytes, Sides::kAny, stream, Wait::kNo);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return Copy(to, AsAddress(from), bytes, Sides::kToDevice, nullptr, Wait::kYes);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return Copy(to, AsAddress(from), bytes, Sides::kToDevice, stream, Wait::kNo);
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return Copy(AsAddress(to), from, bytes, Sides::kFromDevice, nullptr, Wait::kYes);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return Copy(AsAddress(to), from, bytes, Sides::kFromDevice, stream, Wait::kNo);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return Copy(to, from, bytes, Sides::kOnDevice, nullptr, Wait::kYes);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return Copy(to, from, bytes, Sides::kOnDevice, stream, Wait::kNo);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
  return Copy(to, from, bytes, Sides::kOnDevice, nullptr, Wait::kYes);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes,
                           CUstream stream) {
  return Copy(to, from, bytes, Sides::kOnDevice, stream, Wait::kNo);
}

CUresult cuMemsetD8_v2(CUdeviceptr start, unsigned char value, size_t count) {
  return Set({.start = start, .value = value, .element = 1, .width = count}, nullptr);
}

CUresult cuMemsetD8Async(CUdeviceptr start, unsigned char value, size_t count, CUstream stream) {
  return Set({.start = start, .value = value, .element = 1, .width = count}, stream);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr start, size_t pitch, unsigned char value, size_t width,
                         size_t height) {
  return Set({start, pitch, value, 1, width, height}, nullptr);
}

CUresult cuMemsetD2D8Async(CUdeviceptr start, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream) {
  return Set({start, pitch, value, 1, width, height}, stream);
}

CUresult cuMemsetD16_v2(CUdeviceptr start, unsigned short value, size_t count) {
  return Set({.start = start, .value = value, .element = 2, .width = count}, nullptr);
}

CUresult cuMemsetD16Async(CUdeviceptr start, unsigned short value, size_t count, CUstream stream) {
  return Set({.start = start, .value = value, .element = 2, .width = count}, stream);
}

CUresult cuMemsetD2D16_v2(CUdeviceptr start, size_t pitch, unsigned short value, size_t width,
                          size_t height) {
  return Set({start, pitch, value, 2, width, height}, nullptr);
}

CUresult cuMemsetD2D16Async(CUdeviceptr start, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream) {
  return Set({start, pitch, value, 2, width, height}, stream);
}

CUresult cuMemsetD32_v2(CUdeviceptr start, unsigned value, size_t count) {
  return Set({.start = start, .value = value, .element = 4, .width = count}, nullptr);
}

CUresult cuMemsetD32Async(CUdeviceptr start, unsigned value, size_t count, CUstream stream) {
  return Set({.start = start, .value = value, .element = 4, .width = count}, stream);
}

CUresult cuMemsetD2D32_v2(CUdeviceptr start, size_t pitch, unsigned value, size_t width,
                          size_t height) {
  return Set({start, pitch, value, 4, width, height}, nullptr);
}

CUresult cuMemsetD2D32Async(CUdeviceptr start, size_t pitch, unsigned value, size_t width,
                            size_t height, CUstream stream) {
  return Set({start, pitch, value, 4, width, height}, stream);
}

}  // namespace fakecuda::calls
