// What copies and fills between two devices without peer access return, by kind of memory: result, of the
// stream, of the context, and a byte of the destination. With an argument only memory of cuMemAlloc, as
// under Reveza:
//
//   gcc -o peer_copies -I DIRECTORY_OF_CUDA_H bench/gpu/peer_copies.c -lcuda
//   ./peer_copies; reveza run -- ./peer_copies short
#include <cuda.h>
#include <stdio.h>
#include <string.h>

static const size_t kBytes = 2 << 20;
static CUcontext contexts[2];

// Returns memory that is mapped for its device, and for the other one if `both`.
static CUdeviceptr Mapped(int device, int both) {
  CUmemAllocationProp properties;
  CUmemGenericAllocationHandle handle;
  CUmemAccessDesc access[2];
  CUdeviceptr address = 0;
  memset(&properties, 0, sizeof properties);
  memset(access, 0, sizeof access);
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  access[0].location = properties.location;
  access[0].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  access[1] = access[0];
  access[1].location.id = 1 - device;
  cuMemCreate(&handle, kBytes, &properties, 0);
  cuMemAddressReserve(&address, kBytes, 0, 0, 0);
  cuMemMap(address, kBytes, 0, handle, 0);
  cuMemSetAccess(address, kBytes, access, both ? 2 : 1);
  return address;
}

static void Set(int device, CUdeviceptr address, int value) {
  cuCtxSetCurrent(contexts[device]);
  cuMemsetD8(address, value, kBytes);
  cuCtxSynchronize();
}

static int Get(int device, CUdeviceptr address) {
  unsigned char byte = 0;
  cuCtxSetCurrent(contexts[device]);
  cuMemcpyDtoH(&byte, address + 77, 1);
  return byte;
}

#define TRY(name, call, value)                                                                    \
  do {                                                                                            \
    Set(0, here, 1);                                                                              \
    Set(0, here_too, 2);                                                                          \
    Set(1, there, 3);                                                                             \
    memset(host, 9, kBytes);                                                                      \
    cuCtxSetCurrent(contexts[1]);                                                                 \
    const int result = call;                                                                      \
    const int of_stream = cuStreamSynchronize(stream);                                            \
    const int of_context = cuCtxSynchronize();                                                    \
    printf("%s, %s: %d %d %d, value %d\n", kind, name, result, of_stream, of_context, value);     \
    fflush(stdout);                                                                               \
  } while (0)

// The second device's context and stream are current; `here` is memory of the first.
static void Row(const char* kind, CUdeviceptr here, CUdeviceptr here_too, CUdeviceptr there) {
  CUstream stream;
  unsigned char* host;
  cuCtxSetCurrent(contexts[1]);
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  cuMemHostAlloc((void**)&host, kBytes, CU_MEMHOSTALLOC_PORTABLE);
  CUDA_MEMCPY2D flat;
  memset(&flat, 0, sizeof flat);
  flat.srcMemoryType = flat.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  flat.srcDevice = here;
  flat.dstDevice = there;
  flat.WidthInBytes = 1024;
  flat.Height = 16;
  flat.srcPitch = flat.dstPitch = 2048;
  TRY("memset of the other device", cuMemsetD8Async(here, 5, kBytes, stream), Get(0, here));
  TRY("from the other device", cuMemcpyDtoDAsync(there, here, kBytes, stream), Get(1, there));
  TRY("to the other device", cuMemcpyDtoDAsync(here, there, kBytes, stream), Get(0, here));
  TRY("on the other device", cuMemcpyDtoDAsync(here, here_too, kBytes, stream), Get(0, here));
  TRY("from the other device, waiting", cuMemcpyDtoD(there, here, kBytes), Get(1, there));
  TRY("any, from the other device", cuMemcpyAsync(there, here, kBytes, stream), Get(1, there));
  TRY("host to the other device", cuMemcpyHtoDAsync(here, host, kBytes, stream), Get(0, here));
  TRY("the other device to host", cuMemcpyDtoHAsync(host, here, kBytes, stream), host[77]);
  TRY("other device to host, waiting", cuMemcpyDtoH(host, here, kBytes), host[77]);
  TRY("2D, from the other device", cuMemcpy2DAsync(&flat, stream), Get(1, there));
  TRY("peer, from the other device",
      cuMemcpyPeerAsync(there, contexts[1], here, contexts[0], kBytes, stream), Get(1, there));
  TRY("peer, to the other device",
      cuMemcpyPeerAsync(here, contexts[0], there, contexts[1], kBytes, stream), Get(0, here));
  TRY("peer, on the other device",
      cuMemcpyPeerAsync(here, contexts[0], here_too, contexts[0], kBytes, stream), Get(0, here));
}

int main(int argc, char** argv) {
  (void)argv;
  CUdeviceptr memory[3] = {0};
  cuInit(0);
  for (int i = 0; i < 2; ++i) cuDevicePrimaryCtxRetain(&contexts[i], i);
  for (int i = 0; i < 3; ++i) {
    cuCtxSetCurrent(contexts[i / 2]);
    cuMemAlloc(&memory[i], kBytes);
  }
  Row("allocated", memory[0], memory[1], memory[2]);
  if (argc > 1) return 0;
  Row("mapped", Mapped(0, 0), Mapped(0, 0), Mapped(1, 0));
  Row("mapped for both", Mapped(0, 1), Mapped(0, 1), Mapped(1, 1));
  return 0;
}
