// Makes the calls that the programs of tests/clients leave out: rows and boxes, managed, pitched
// and registered memory, pools, values written by streams, host functions. Linked to the driver.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void Check(CUresult result, int line) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "assorted_calls: line %d: %d\n", line, static_cast<int>(result));
  std::exit(1);
}

#define CHECK(call) Check(call, __LINE__)

constexpr std::size_t kBytes = 6 << 20;

void CopyRows(CUdeviceptr to, CUdeviceptr from, CUstream stream) {
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = from;
  rows.srcPitch = 1024;
  rows.srcXInBytes = 16;
  rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.dstDevice = to;
  rows.dstPitch = 512;
  rows.dstY = 3;
  rows.WidthInBytes = 200;
  rows.Height = 50;
  CHECK(cuMemcpy2DAsync(&rows, stream));
  CHECK(cuStreamSynchronize(stream));
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = from;
  box.srcPitch = 256;
  box.srcHeight = 20;
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = to;
  box.dstPitch = 128;
  box.dstHeight = 10;
  box.dstZ = 1;
  box.WidthInBytes = 100;
  box.Height = 8;
  box.Depth = 4;
  CHECK(cuMemcpy3D(&box));
}

void UseHostMemory(CUdeviceptr memory, CUstream stream) {
  void* registered = std::aligned_alloc(4096, 1 << 20);
  CHECK(cuMemHostRegister(registered, 1 << 20, CU_MEMHOSTREGISTER_DEVICEMAP));
  CUdeviceptr device = 0;
  CHECK(cuMemHostGetDevicePointer(&device, registered, 0));
  CHECK(cuMemcpyDtoHAsync(registered, memory, 1 << 20, stream));
  CHECK(cuMemcpyHtoDAsync(memory + (1 << 20), registered, 1 << 20, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemHostUnregister(registered));
  std::free(registered);
  std::vector<char> pageable(3 << 20, 'p');
  CHECK(cuMemcpyHtoD(memory, pageable.data(), pageable.size()));
  CHECK(cuMemcpyDtoHAsync(pageable.data(), memory + 8, 1 << 20, stream));
  CHECK(cuStreamSynchronize(stream));
}

void UseOtherMemory(CUdeviceptr memory, CUdevice device, CUstream stream) {
  CUdeviceptr pitched = 0, managed = 0, pooled = 0;
  std::size_t pitch = 0;
  CHECK(cuMemAllocPitch(&pitched, &pitch, 1000, 100, 4));
  CHECK(cuMemsetD2D16Async(pitched, pitch, 0x1234, 500, 100, stream));
  CHECK(cuMemcpyDtoDAsync(memory + 64, pitched, pitch * 99, stream));
  CHECK(cuMemAllocManaged(&managed, 1 << 20, CU_MEM_ATTACH_GLOBAL));
  CHECK(cuMemsetD32Async(managed, 7, 1 << 18, stream));
  CHECK(cuMemcpyAsync(memory, managed, 1 << 20, stream));
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  CUmemoryPool pool = nullptr;
  CHECK(cuMemPoolCreate(&pool, &properties));
  CHECK(cuMemAllocFromPoolAsync(&pooled, 1 << 20, pool, stream));
  CHECK(cuMemsetD8Async(pooled, 9, 1 << 20, stream));
  CHECK(cuMemcpyDtoDAsync(memory, pooled, 1 << 20, stream));
  CHECK(cuMemFreeAsync(pooled, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemPoolTrimTo(pool, 0));
  CHECK(cuMemPoolDestroy(pool));
  CHECK(cuMemFree(managed));
  CHECK(cuMemFree(pitched));
}

void CUDA_CB Count(void* data) { ++*static_cast<int*>(data); }
void CUDA_CB CountAfter(CUstream, CUresult, void* data) { Count(data); }

void UseStreams(CUdeviceptr memory, CUstream stream) {
  int calls = 0;
  CUevent begin = nullptr, end = nullptr;
  CHECK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
  CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
  CHECK(cuEventRecord(begin, stream));
  CHECK(cuStreamWriteValue32(stream, memory + 4, 77, 0));
  CHECK(cuLaunchHostFunc(stream, Count, &calls));
  CHECK(cuStreamAddCallback(stream, CountAfter, &calls, 0));
  CHECK(cuEventRecord(end, stream));
  while (cuEventQuery(end) == CUDA_ERROR_NOT_READY) {
  }
  float milliseconds = 0;
  CHECK(cuEventElapsedTime(&milliseconds, begin, end));
  CHECK(cuEventDestroy(begin));
  CHECK(cuEventDestroy(end));
  // A capture that fails because a stream did not join it again.
  CUstream other = nullptr;
  CUevent fork = nullptr;
  CUgraph graph = nullptr;
  CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cuEventRecord(fork, stream));
  CHECK(cuStreamWaitEvent(other, fork, 0));
  CHECK(cuMemsetD8Async(memory, 1, 64, other));
  if (cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS) std::exit(1);
  CHECK(cuStreamDestroy(other));
  CHECK(cuEventDestroy(fork));
}

}  // namespace

int main() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0, other = 0;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&memory, kBytes));
  CHECK(cuMemAlloc(&other, kBytes));
  CHECK(cuMemsetD8(memory, 1, kBytes));
  CHECK(cuMemsetD16(other, 2, kBytes / 2));
  for (int i = 0; i < 5; ++i) {
    CopyRows(other, memory, stream);
    UseHostMemory(memory, stream);
    UseOtherMemory(memory, device, stream);
    UseStreams(other, stream);
  }
  CHECK(cuMemFree(memory));
  CHECK(cuMemFree(other));
  CHECK(cuStreamDestroy(stream));
  return 0;
}
