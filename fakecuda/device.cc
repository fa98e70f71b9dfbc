// Driver and device entries.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fakecuda/call.h"
#include "fakecuda/state.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

bool IsDevice(CUdevice device) { return State::Get().card->HasDevice(device); }

CUresult Check(const void* output, CUdevice device) {
  if (output == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return IsDevice(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

// The attributes that are not 0.
constexpr struct {
  CUdevice_attribute attribute;
  int value;
} kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 232448},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 256},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
};

int Attribute(CUdevice_attribute attribute) {
  if (attribute == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) {
    return State::Get().options.virtual_memory ? 1 : 0;
  }
  for (const auto& [known, value] : kAttributes) {
    if (known == attribute) return value;
  }
  return 0;
}

}  // namespace

namespace calls {

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  State& state = State::Get();
  StateLock lock(state.mutex);
  if (state.card == nullptr) state.card = Card::Open(state.options);
  if (state.card == nullptr) return CUDA_ERROR_NO_DEVICE;
  MarkInitialised();
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = State::Get().options.driver_version;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = State::Get().card->devices();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  RETURN_IF_ERROR(Check(device, ordinal));
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<std::size_t>(length), "fakecuda");
  return CUDA_SUCCESS;
}

// The card's, also for a MIG instance.
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  RETURN_IF_ERROR(Check(uuid, device));
  std::memcpy(uuid->bytes, "fakecuda-device-", 16);
  const int card = State::Get().card->partitioned() ? 0 : device;
  uuid->bytes[15] = static_cast<char>('0' + card);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  RETURN_IF_ERROR(Check(uuid, device));
  if (!State::Get().card->partitioned()) return calls::cuDeviceGetUuid(uuid, device);
  std::memcpy(uuid->bytes, "fakecuda-mig-00-", 16);
  uuid->bytes[15] = static_cast<char>('0' + device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  RETURN_IF_ERROR(Check(bytes, device));
  *bytes = State::Get().card->memory(device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  // Not in older headers.
  constexpr auto kHostVirtualMemory = static_cast<CUdevice_attribute>(141);
  if (value == nullptr || attribute <= 0 ||
      // NOLINTNEXTLINE(misc-redundant-expression): with newer headers
      (attribute >= CU_DEVICE_ATTRIBUTE_MAX && attribute != kHostVirtualMemory)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  // A driver does not know attributes that are newer than itself.
  const State& state = State::Get();
  if (attribute == kHostVirtualMemory && state.options.driver_version < 12090) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  constexpr auto kMpsEnabled = static_cast<CUdevice_attribute>(133);  // not in older headers
  *value = attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID      ? device + 1
           : attribute == CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID ? 0xFFFF
           : attribute == CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID
               ? (state.options.host_virtual_memory ? 0 : -1)
           : attribute == kMpsEnabled        ? static_cast<int>(state.options.mps)
           : attribute == kHostVirtualMemory ? static_cast<int>(state.options.host_virtual_memory)
                                             : Attribute(attribute);
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(device) || !IsDevice(peer)) return CUDA_ERROR_INVALID_DEVICE;
  *can = device != peer && !State::Get().card->partitioned() ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace calls
}  // namespace fakecuda
