#include "phi/gpu/driver.h"

#include <array>
#include <utility>

#include "common/base/units.h"

namespace reveza::phi {

Status GpuDriver::Missing(const char* name) {
  return Fail(Error::Code::kUnavailable, "the CUDA driver has no {}", name);
}

Status GpuDriver::Failed(const char* name, CUresult result) const {
  const char* description = nullptr;
  if (auto* text = library_.Symbol<decltype(cuGetErrorString)>("cuGetErrorString");
      text == nullptr || text(result, &description) != CUDA_SUCCESS || description == nullptr) {
    description = "unknown";
  }
  return Fail(Error::Code::kUnavailable, "{}: {} (error {})", name, description,
              static_cast<int>(result));
}

Result<std::shared_ptr<GpuDriver>> GpuDriver::Open(int index, const char* library) {
  auto loaded = platform::OpenCudaDriver(library);
  if (!loaded) {
    return Fail(Error::Code::kUnavailable, "no GPU available: {}; use --device cpu",
                loaded.error().message);
  }
  std::shared_ptr<GpuDriver> driver(new GpuDriver);
  driver->library_ = *std::move(loaded);
  int count = 0;
  RETURN_IF_ERROR(GPU_CALL(*driver, cuInit, 0U));
  RETURN_IF_ERROR(GPU_CALL(*driver, cuDeviceGetCount, &count));
  if (index < 0 || index >= count) {
    return Fail(Error::Code::kUnavailable, "GPU {} does not exist; {} visible", index, count);
  }
  std::array<char, 128> name{};
  CUcontext context{};
  RETURN_IF_ERROR(GPU_CALL(*driver, cuDeviceGet, &driver->device_, index));
  RETURN_IF_ERROR(GPU_CALL(*driver, cuDeviceGetName, name.data(), static_cast<int>(name.size()),
                           driver->device_));
  RETURN_IF_ERROR(GPU_CALL(*driver, cuDeviceGetAttribute, &driver->processors_,
                           CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, driver->device_));
  RETURN_IF_ERROR(GPU_CALL(*driver, cuDevicePrimaryCtxRetain, &context, driver->device_));
  driver->retained_ = true;
  driver->gpu_ = name.data();
  RETURN_IF_ERROR(GPU_CALL(*driver, cuCtxSetCurrent, context));
  return driver;
}

GpuDriver::~GpuDriver() {
  if (retained_) (void)GPU_CALL(*this, cuDevicePrimaryCtxRelease, device_);
}

Result<Bytes> GpuDriver::FreeMemory() const {
  std::size_t free = 0;
  std::size_t total = 0;
  RETURN_IF_ERROR(GPU_CALL(*this, cuMemGetInfo, &free, &total));
  return Bytes{free};
}

Status GpuDriver::WaitForAll() const {
  return Call<decltype(cuCtxSynchronize)>("cuCtxSynchronize");
}

Result<GpuMemory> GpuMemory::Allocate(GpuDriverPointer driver, std::size_t bytes) {
  CUdeviceptr address = 0;
  if (auto done = GPU_CALL(*driver, cuMemAlloc, &address, bytes); !done) {
    return Fail(Error::Code::kExhausted, "cannot allocate {} on the GPU: {}", FormatBytes(bytes),
                done.error().message);
  }
  GpuMemory memory;
  memory.memory_ = {reinterpret_cast<void*>(address), [driver](void* freed) {
                      (void)GPU_CALL(*driver, cuMemFree, reinterpret_cast<CUdeviceptr>(freed));
                    }};
  memory.driver_ = std::move(driver);
  memory.bytes_ = bytes;
  const auto zero = static_cast<unsigned char>(0);
  RETURN_IF_ERROR(GPU_CALL(*memory.driver_, cuMemsetD8, address, zero, bytes));
  return memory;
}

Status GpuMemory::CopyFrom(const void* host) const {
  return GPU_CALL(*driver_, cuMemcpyHtoD, Address(), host, bytes_);
}

Status GpuMemory::CopyTo(void* host) const {
  return GPU_CALL(*driver_, cuMemcpyDtoH, host, Address(), bytes_);
}

Result<std::shared_ptr<void>> AllocatePinned(const GpuDriverPointer& driver, std::size_t bytes) {
  void* memory = nullptr;
  RETURN_IF_ERROR(GPU_CALL(*driver, cuMemAllocHost, &memory, bytes));
  return std::shared_ptr<void>(
      memory, [driver](void* freed) { (void)GPU_CALL(*driver, cuMemFreeHost, freed); });
}

}  // namespace reveza::phi
