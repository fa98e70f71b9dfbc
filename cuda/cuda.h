// NVIDIA's cuda.h, and the calls that it lacks if it is older than CUDA 13.5, with their types.
// Found before NVIDIA's by everything that is linked to reveza_cuda_headers, so that libreveza.so
// has the same wrappers whatever header it is built with: a program may be built for a newer CUDA.
//
// Structures that are only passed on are incomplete types here.
#pragma once

#include_next <cuda.h>

// The headers that can be used; CMake and tools/setup.sh read these lines. An older one declares
// calls with other types, and a newer one may have calls that the table of the calls lacks.
#define REVEZA_CUDA_OLDEST 12040
#define REVEZA_CUDA_NEWEST 13050
#if CUDA_VERSION < REVEZA_CUDA_OLDEST || CUDA_VERSION > REVEZA_CUDA_NEWEST
#error "The headers of this version of CUDA are not supported."
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if CUDA_VERSION < 12050
typedef struct CUctxCreateParams_st {
  CUexecAffinityParam* execAffinityParams;
  int numExecAffinityParams;
  struct CUctxCigParam_st* cigParams;
} CUctxCreateParams;
CUresult CUDAAPI cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams* ctxCreateParams,
                                unsigned int flags, CUdevice dev);
#endif  // 12050

#ifdef __CUDA_API_VERSION_INTERNAL  // names are exact

#if CUDA_VERSION < 12050
CUresult CUDAAPI cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent);
CUresult CUDAAPI cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent);
CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream* phStream, CUgreenCtx greenCtx, unsigned int flags,
                                        int priority);
CUresult CUDAAPI cuKernelGetLibrary(CUlibrary* pLib, CUkernel kernel);
CUresult CUDAAPI cuStreamGetCtx_v2(CUstream hStream, CUcontext* pCtx, CUgreenCtx* pGreenCtx);
CUresult CUDAAPI cuStreamGetCtx_v2_ptsz(CUstream hStream, CUcontext* pCtx, CUgreenCtx* pGreenCtx);
#endif  // 12050

#if CUDA_VERSION < 12080
typedef struct CUDA_MEMCPY3D_BATCH_OP_st CUDA_MEMCPY3D_BATCH_OP;
typedef struct CUcheckpointCheckpointArgs_st CUcheckpointCheckpointArgs;
typedef struct CUcheckpointLockArgs_st CUcheckpointLockArgs;
typedef struct CUcheckpointRestoreArgs_st CUcheckpointRestoreArgs;
typedef struct CUcheckpointUnlockArgs_st CUcheckpointUnlockArgs;
typedef struct CUmemDecompressParams_st CUmemDecompressParams;
typedef struct CUmemcpyAttributes_st CUmemcpyAttributes;
typedef unsigned int CUprocessState;             // an enumeration
typedef unsigned int CUtensorMapIm2ColWideMode;  // an enumeration
CUresult CUDAAPI cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs* args);
CUresult CUDAAPI cuCheckpointProcessGetRestoreThreadId(int pid, int* tid);
CUresult CUDAAPI cuCheckpointProcessGetState(int pid, CUprocessState* state);
CUresult CUDAAPI cuCheckpointProcessLock(int pid, CUcheckpointLockArgs* args);
CUresult CUDAAPI cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs* args);
CUresult CUDAAPI cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs* args);
CUresult CUDAAPI cuEventElapsedTime_v2(float* pMilliseconds, CUevent hStart, CUevent hEnd);
CUresult CUDAAPI cuMemBatchDecompressAsync(CUmemDecompressParams* paramsArray, size_t count,
                                           unsigned int flags, size_t* errorIndex, CUstream stream);
CUresult CUDAAPI cuMemBatchDecompressAsync_ptsz(CUmemDecompressParams* paramsArray, size_t count,
                                                unsigned int flags, size_t* errorIndex,
                                                CUstream stream);
CUresult CUDAAPI cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList,
                                      size_t* failIdx, unsigned long long flags, CUstream hStream);
CUresult CUDAAPI cuMemcpy3DBatchAsync_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList,
                                           size_t* failIdx, unsigned long long flags,
                                           CUstream hStream);
CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes,
                                    size_t count, CUmemcpyAttributes* attrs, size_t* attrsIdxs,
                                    size_t numAttrs, size_t* failIdx, CUstream hStream);
CUresult CUDAAPI cuMemcpyBatchAsync_ptsz(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes,
                                         size_t count, CUmemcpyAttributes* attrs, size_t* attrsIdxs,
                                         size_t numAttrs, size_t* failIdx, CUstream hStream);
CUresult CUDAAPI cuStreamGetDevice(CUstream hStream, CUdevice* device);
CUresult CUDAAPI cuStreamGetDevice_ptsz(CUstream hStream, CUdevice* device);
CUresult CUDAAPI cuTensorMapEncodeIm2colWide(
    CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void* globalAddress, const cuuint64_t* globalDim, const cuuint64_t* globalStrides,
    int pixelBoxLowerCornerWidth, int pixelBoxUpperCornerWidth, cuuint32_t channelsPerPixel,
    cuuint32_t pixelsPerColumn, const cuuint32_t* elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill);
#endif  // 12080

#if CUDA_VERSION < 12090
typedef unsigned int CUlogIterator;
typedef unsigned int CUlogLevel;  // an enumeration
typedef void (*CUlogsCallback)(void* data, CUlogLevel logLevel, char* message, size_t length);
typedef struct CUlogsCallbackEntry_st* CUlogsCallbackHandle;
CUresult CUDAAPI cuLogsCurrent(CUlogIterator* iterator_out, unsigned int flags);
CUresult CUDAAPI cuLogsDumpToFile(CUlogIterator* iterator, const char* pathToFile,
                                  unsigned int flags);
CUresult CUDAAPI cuLogsDumpToMemory(CUlogIterator* iterator, char* buffer, size_t* size,
                                    unsigned int flags);
CUresult CUDAAPI cuLogsRegisterCallback(CUlogsCallback callbackFunc, void* userData,
                                        CUlogsCallbackHandle* callback_out);
CUresult CUDAAPI cuLogsUnregisterCallback(CUlogsCallbackHandle callback);
#endif  // 12090

#if CUDA_VERSION < 13000
typedef unsigned int CUatomicOperation;  // an enumeration
CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice* device, CUcontext ctx);
CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx);
CUresult CUDAAPI cuDeviceGetHostAtomicCapabilities(unsigned int* capabilities,
                                                   const CUatomicOperation* operations,
                                                   unsigned int count, CUdevice dev);
CUresult CUDAAPI cuDeviceGetP2PAtomicCapabilities(unsigned int* capabilities,
                                                  const CUatomicOperation* operations,
                                                  unsigned int count, CUdevice srcDevice,
                                                  CUdevice dstDevice);
CUresult CUDAAPI cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long* greenCtxId);
CUresult CUDAAPI cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                                   CUmemLocation* prefetchLocs,
                                                   size_t* prefetchLocIdxs, size_t numPrefetchLocs,
                                                   unsigned long long flags, CUstream hStream);
CUresult CUDAAPI cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr* dptrs, size_t* sizes,
                                                        size_t count, CUmemLocation* prefetchLocs,
                                                        size_t* prefetchLocIdxs,
                                                        size_t numPrefetchLocs,
                                                        unsigned long long flags, CUstream hStream);
CUresult CUDAAPI cuMemDiscardBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                        unsigned long long flags, CUstream hStream);
CUresult CUDAAPI cuMemDiscardBatchAsync_ptsz(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                             unsigned long long flags, CUstream hStream);
CUresult CUDAAPI cuMemGetDefaultMemPool(CUmemoryPool* pool_out, CUmemLocation* location,
                                        CUmemAllocationType type);
CUresult CUDAAPI cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                 CUmemAllocationType type);
CUresult CUDAAPI cuMemPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                         CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                         size_t numPrefetchLocs, unsigned long long flags,
                                         CUstream hStream);
CUresult CUDAAPI cuMemPrefetchBatchAsync_ptsz(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                              CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                              size_t numPrefetchLocs, unsigned long long flags,
                                              CUstream hStream);
CUresult CUDAAPI cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type,
                                 CUmemoryPool pool);
CUresult CUDAAPI cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList,
                                         unsigned long long flags, CUstream hStream);
CUresult CUDAAPI cuMemcpy3DBatchAsync_v2_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList,
                                              unsigned long long flags, CUstream hStream);
CUresult CUDAAPI cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes,
                                       size_t count, CUmemcpyAttributes* attrs, size_t* attrsIdxs,
                                       size_t numAttrs, CUstream hStream);
CUresult CUDAAPI cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes,
                                            size_t count, CUmemcpyAttributes* attrs,
                                            size_t* attrsIdxs, size_t numAttrs, CUstream hStream);
#endif  // 13000

#if CUDA_VERSION < 13010
typedef struct CU_DEV_SM_RESOURCE_GROUP_PARAMS_st CU_DEV_SM_RESOURCE_GROUP_PARAMS;
CUresult CUDAAPI cuDevSmResourceSplit(CUdevResource* result, unsigned int nbGroups,
                                      const CUdevResource* input, CUdevResource* remainder,
                                      unsigned int flags,
                                      CU_DEV_SM_RESOURCE_GROUP_PARAMS* groupParams);
CUresult CUDAAPI cuGraphExecGetId(CUgraphExec hGraphExec, unsigned int* graphId);
CUresult CUDAAPI cuGraphGetId(CUgraph hGraph, unsigned int* graphId);
CUresult CUDAAPI cuGraphNodeGetContainingGraph(CUgraphNode hNode, CUgraph* phGraph);
CUresult CUDAAPI cuGraphNodeGetLocalId(CUgraphNode hNode, unsigned int* nodeId);
CUresult CUDAAPI cuGraphNodeGetToolsId(CUgraphNode hNode, unsigned long long* toolsNodeId);
CUresult CUDAAPI cuMulticastBindAddr_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                        size_t mcOffset, CUdeviceptr memptr, size_t size,
                                        unsigned long long flags);
CUresult CUDAAPI cuMulticastBindMem_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                       size_t mcOffset, CUmemGenericAllocationHandle memHandle,
                                       size_t memOffset, size_t size, unsigned long long flags);
CUresult CUDAAPI cuStreamGetDevResource(CUstream hStream, CUdevResource* resource,
                                        CUdevResourceType type);
CUresult CUDAAPI cuStreamGetDevResource_ptsz(CUstream hStream, CUdevResource* resource,
                                             CUdevResourceType type);
#endif  // 13010

#if CUDA_VERSION < 13020
typedef struct CUcoredumpCallbackEntry_st* CUcoredumpCallbackHandle;
typedef void (*CUcoredumpStatusCallback)(void* userData, int pid, CUdevice dev);
typedef struct CUstreamCigCaptureParams_st CUstreamCigCaptureParams;
CUresult CUDAAPI cuCoredumpDeregisterCompleteCallback(CUcoredumpCallbackHandle callback);
CUresult CUDAAPI cuCoredumpDeregisterStartCallback(CUcoredumpCallbackHandle callback);
CUresult CUDAAPI cuCoredumpRegisterCompleteCallback(CUcoredumpStatusCallback callback,
                                                    void* userData,
                                                    CUcoredumpCallbackHandle* callbackOut);
CUresult CUDAAPI cuCoredumpRegisterStartCallback(CUcoredumpStatusCallback callback, void* userData,
                                                 CUcoredumpCallbackHandle* callbackOut);
CUresult CUDAAPI cuFuncGetParamCount(CUfunction func, size_t* paramCount);
CUresult CUDAAPI cuGraphNodeGetParams(CUgraphNode hNode, CUgraphNodeParams* nodeParams);
CUresult CUDAAPI cuKernelGetParamCount(CUkernel kernel, size_t* paramCount);
CUresult CUDAAPI cuLaunchHostFunc_v2(CUstream hStream, CUhostFn fn, void* userData,
                                     unsigned int syncMode);
CUresult CUDAAPI cuLaunchHostFunc_v2_ptsz(CUstream hStream, CUhostFn fn, void* userData,
                                          unsigned int syncMode);
CUresult CUDAAPI cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP* op, unsigned long long flags,
                                               CUstream hStream);
CUresult CUDAAPI cuMemcpy3DWithAttributesAsync_ptsz(CUDA_MEMCPY3D_BATCH_OP* op,
                                                    unsigned long long flags, CUstream hStream);
CUresult CUDAAPI cuMemcpyWithAttributesAsync(CUdeviceptr dst, CUdeviceptr src, size_t size,
                                             CUmemcpyAttributes* attr, CUstream hStream);
CUresult CUDAAPI cuMemcpyWithAttributesAsync_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t size,
                                                  CUmemcpyAttributes* attr, CUstream hStream);
CUresult CUDAAPI cuStreamBeginCaptureToCig(CUstream hStream,
                                           CUstreamCigCaptureParams* streamCigCaptureParams);
CUresult CUDAAPI cuStreamBeginCaptureToCig_ptsz(CUstream hStream,
                                                CUstreamCigCaptureParams* streamCigCaptureParams);
CUresult CUDAAPI cuStreamEndCaptureToCig(CUstream hStream);
CUresult CUDAAPI cuStreamEndCaptureToCig_ptsz(CUstream hStream);
#endif  // 13020

#if CUDA_VERSION < 13030
typedef unsigned int CUgraphRecaptureStatus;  // an enumeration
typedef CUresult (*CUgraphRecaptureCallback)(void* data, CUgraphNode node,
                                             const CUgraphNodeParams* originalParams,
                                             const CUgraphNodeParams* recaptureParams,
                                             CUgraphRecaptureStatus status);
typedef cuuint32_t CUlogicalEndpointId;
typedef unsigned int CUlogicalEndpointIpcHandleType;  // an enumeration
typedef struct CUlogicalEndpointProp_st CUlogicalEndpointProp;
CUresult CUDAAPI cuLogicalEndpointAddDevice(CUlogicalEndpointId leId, CUdevice dev);
CUresult CUDAAPI cuLogicalEndpointBindAddr(CUlogicalEndpointId leId, CUdevice dev,
                                           cuuint64_t offset, void* ptr, cuuint64_t size,
                                           unsigned long long flags);
CUresult CUDAAPI cuLogicalEndpointBindMem(CUlogicalEndpointId leId, CUdevice dev, cuuint64_t offset,
                                          CUmemGenericAllocationHandle memHandle,
                                          cuuint64_t memOffset, cuuint64_t size,
                                          unsigned long long flags);
CUresult CUDAAPI cuLogicalEndpointCreate(CUlogicalEndpointId leId,
                                         const CUlogicalEndpointProp* prop);
CUresult CUDAAPI cuLogicalEndpointDestroy(CUlogicalEndpointId leId);
CUresult CUDAAPI cuLogicalEndpointExport(void* handle, CUlogicalEndpointId leId,
                                         CUlogicalEndpointIpcHandleType handleType);
CUresult CUDAAPI cuLogicalEndpointGetLimits(cuuint64_t* bindAlignment, cuuint64_t* maxSize,
                                            const CUlogicalEndpointProp* prop);
CUresult CUDAAPI cuLogicalEndpointIdRelease(CUlogicalEndpointId baseLeId, cuuint32_t count);
CUresult CUDAAPI cuLogicalEndpointIdReserve(CUlogicalEndpointId* baseLeId, cuuint32_t count);
CUresult CUDAAPI cuLogicalEndpointImport(CUlogicalEndpointId leId, const void* handle,
                                         CUlogicalEndpointIpcHandleType handleType);
CUresult CUDAAPI cuLogicalEndpointQuery(CUlogicalEndpointId leId, cuuint32_t count,
                                        int* queryStatus);
CUresult CUDAAPI cuLogicalEndpointUnbind(CUlogicalEndpointId leId, CUdevice dev, cuuint64_t offset,
                                         cuuint64_t size);
CUresult CUDAAPI cuStreamBeginRecaptureToGraph(CUstream hStream, CUstreamCaptureMode mode,
                                               CUgraph hGraph,
                                               CUgraphRecaptureCallback callbackFunc,
                                               void* userData);
CUresult CUDAAPI cuStreamBeginRecaptureToGraph_ptsz(CUstream hStream, CUstreamCaptureMode mode,
                                                    CUgraph hGraph,
                                                    CUgraphRecaptureCallback callbackFunc,
                                                    void* userData);
#endif  // 13030

#if CUDA_VERSION < 13040
typedef struct CUIcheckpointOperation_st* CUcheckpointOperationHandle;
typedef struct CUcliqueInfo_st CUcliqueInfo;
CUresult CUDAAPI cuCheckpointOperationComplete(CUcheckpointOperationHandle handle);
CUresult CUDAAPI cuDeviceGetCliqueCount(size_t* count, CUdevice dev);
CUresult CUDAAPI cuDeviceGetCliqueInfo(CUcliqueInfo* cliqueInfo, size_t* count, CUdevice dev);
CUresult CUDAAPI cuDeviceGetFabricClusterUuid(CUuuid* uuid, CUdevice dev);
CUresult CUDAAPI cuGraphAddNode_v3(CUgraphNode* phGraphNode, CUgraph hGraph,
                                   const CUgraphNode* dependencies,
                                   const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                   CUgraphNodeParams* nodeParams);
CUresult CUDAAPI cuGraphNodeSetParams_v2(CUgraphNode hNode, CUgraphNodeParams* nodeParams);
CUresult CUDAAPI cuMemGetLocationInfo(CUdeviceptr ptr, size_t size, size_t summaryGranularity,
                                      size_t samplingGranularity, CUmemLocation* location_out);
#endif  // 13040

#if CUDA_VERSION < 13050
typedef struct CUDA_FABRIC_COPY_BATCH_OP_st CUDA_FABRIC_COPY_BATCH_OP;
typedef unsigned int CUtensorMapAllocClass;  // an enumeration
CUresult CUDAAPI cuFabricCpyBatchAsync(size_t numOps, CUDA_FABRIC_COPY_BATCH_OP* opList,
                                       unsigned long long flags, CUstream hStream);
CUresult CUDAAPI cuFabricCpyBatchAsync_ptsz(size_t numOps, CUDA_FABRIC_COPY_BATCH_OP* opList,
                                            unsigned long long flags, CUstream hStream);
CUresult CUDAAPI cuTensorMapSetAllocationClass(CUtensorMap* tensorMap,
                                               CUtensorMapAllocClass allocClass,
                                               CUtensorMapAllocClass* outAllocClass);
#endif  // 13050

#elif CUDA_VERSION < 13000  // the name means what it means from CUDA 13.0 on
#undef cuCtxCreate
#define cuCtxCreate cuCtxCreate_v4
#endif  // __CUDA_API_VERSION_INTERNAL

#ifdef __cplusplus
}
#endif
