#include "phi/gpu/driver.h"

#include <fmt/format.h>

#include <array>

#include "base/units.h"

namespace reveza::phi {

Status GpuDriver::Missing(const char* name) {
  return Fail(Error::Code::kUnavailable, fmt::format("the CUDA driver has no {}", name));
}

Status GpuDriver::Failed(const char* name, CUresult result) const {
  const char* said = nullptr;
  if (auto* text =
          reinterpret_cast<decltype(&cuGetErrorString)>(dlsym(library_, "cuGetErrorString"));
      text == nullptr || text(result, &said) != CUDA_SUCCESS || said == nullptr) {
    said = "unknown";
  }
  return Fail(Error::Code::kUnavailable,
              fmt::format("{}: {} (error {})", name, said, static_cast<int>(result)));
}

Result<std::shared_ptr<GpuDriver>> GpuDriver::Open(int index, const char* library) {
  std::shared_ptr<GpuDriver> driver(new GpuDriver);
  driver->library_ = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (driver->library_ == nullptr) {
    return Fail(Error::Code::kUnavailable,
                fmt::format("there is no GPU to use: {}; take --device cpu", dlerror()));
  }
  int count = 0;
  if (auto done = GPU_CALL(*driver, cuInit, 0U); !done) return std::unexpected(done.error());
  if (auto done = GPU_CALL(*driver, cuDeviceGetCount, &count); !done) {
    return std::unexpected(done.error());
  }
  if (index < 0 || index >= count) {
    return Fail(Error::Code::kUnavailable,
                fmt::format("there is no GPU {}: this program sees {}", index, count));
  }
  std::array<char, 128> name{};
  CUcontext context{};
  Status done = GPU_CALL(*driver, cuDeviceGet, &driver->device_, index);
  if (done) {
    done = GPU_CALL(*driver, cuDeviceGetName, name.data(), static_cast<int>(name.size()),
                    driver->device_);
  }
  if (done) {
    done = GPU_CALL(*driver, cuDeviceGetAttribute, &driver->processors_,
                    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, driver->device_);
  }
  if (done) done = GPU_CALL(*driver, cuDevicePrimaryCtxRetain, &context, driver->device_);
  if (!done) return std::unexpected(done.error());
  driver->retained_ = true;
  driver->gpu_ = name.data();
  done = GPU_CALL(*driver, cuCtxSetCurrent, context);
  if (!done) return std::unexpected(done.error());
  return driver;
}

GpuDriver::~GpuDriver() {
  if (retained_) (void)GPU_CALL(*this, cuDevicePrimaryCtxRelease, device_);
}

Result<Bytes> GpuDriver::FreeMemory() const {
  std::size_t free = 0;
  std::size_t total = 0;
  if (auto done = GPU_CALL(*this, cuMemGetInfo, &free, &total); !done) {
    return std::unexpected(done.error());
  }
  return Bytes{free};
}

Status GpuDriver::WaitForAll() const {
  return Call<decltype(cuCtxSynchronize)>("cuCtxSynchronize");
}

Result<GpuMemory> GpuMemory::Allocate(GpuDriverPointer driver, std::size_t bytes) {
  GpuMemory memory;
  memory.driver_ = std::move(driver);
  if (auto done = GPU_CALL(*memory.driver_, cuMemAlloc, &memory.address_, bytes); !done) {
    return Fail(Error::Code::kExhausted,
                fmt::format("the GPU gives no {}: {}", FormatBytes(bytes), done.error().message));
  }
  memory.bytes_ = bytes;
  const auto zero = static_cast<unsigned char>(0);
  if (auto done = GPU_CALL(*memory.driver_, cuMemsetD8, memory.address_, zero, bytes); !done) {
    return std::unexpected(done.error());
  }
  return memory;
}

GpuMemory& GpuMemory::operator=(GpuMemory&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

GpuMemory::~GpuMemory() {
  if (address_ != 0) (void)GPU_CALL(*driver_, cuMemFree, address_);
}

Status GpuMemory::CopyFrom(const void* host) const {
  return GPU_CALL(*driver_, cuMemcpyHtoD, address_, host, bytes_);
}

Status GpuMemory::CopyTo(void* host) const {
  return GPU_CALL(*driver_, cuMemcpyDtoH, host, address_, bytes_);
}

Result<PinnedMemory> PinnedMemory::Allocate(GpuDriverPointer driver, std::size_t bytes) {
  PinnedMemory memory;
  memory.driver_ = std::move(driver);
  if (auto done = GPU_CALL(*memory.driver_, cuMemAllocHost, &memory.memory_, bytes); !done) {
    return std::unexpected(done.error());
  }
  return memory;
}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(memory_, other.memory_);
  return *this;
}

PinnedMemory::~PinnedMemory() {
  if (memory_ != nullptr) (void)GPU_CALL(*driver_, cuMemFreeHost, memory_);
}

}  // namespace reveza::phi
