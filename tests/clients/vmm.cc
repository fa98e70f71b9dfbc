// Maps memory by the virtual memory management calls, as JAX does (one large handle) and as
// PyTorch's expandable segments do (many small handles that are mapped, unmapped and mapped
// elsewhere), with aliases, retained handles and finally an exported handle.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

constexpr std::uint64_t kGranule = 2 << 20;

class Mapper {
 public:
  explicit Mapper(const Session& session) : driver_(session.driver()) {
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties_.location.id = session.device();
    // JAX and PyTorch always request these.
    properties_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    int rdma = 0;
    REVEZA_CHECK(driver_, cuDeviceGetAttribute(
                              &rdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
                              session.device()));
    properties_.allocFlags.gpuDirectRDMACapable = rdma != 0;
  }

  CUmemGenericAllocationHandle Create(std::uint64_t bytes) const {
    CUmemGenericAllocationHandle handle = 0;
    REVEZA_CHECK(driver_, cuMemCreate(&handle, bytes, &properties_, 0));
    return handle;
  }
  CUdeviceptr Reserve(std::uint64_t bytes) const {
    CUdeviceptr address = 0;
    REVEZA_CHECK(driver_, cuMemAddressReserve(&address, bytes, 0, 0, 0));
    return address;
  }
  void Map(CUdeviceptr address, std::uint64_t bytes, CUmemGenericAllocationHandle handle) const {
    REVEZA_CHECK(driver_, cuMemMap(address, bytes, 0, handle, 0));
    CUmemAccessDesc access{};
    access.location = properties_.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    REVEZA_CHECK(driver_, cuMemSetAccess(address, bytes, &access, 1));
  }
  void Unmap(CUdeviceptr address, std::uint64_t bytes) const {
    REVEZA_CHECK(driver_, cuMemUnmap(address, bytes));
  }
  void Release(CUmemGenericAllocationHandle handle) const {
    REVEZA_CHECK(driver_, cuMemRelease(handle));
  }
  void FreeAddress(CUdeviceptr address, std::uint64_t bytes) const {
    REVEZA_CHECK(driver_, cuMemAddressFree(address, bytes));
  }

 private:
  const Driver& driver_;
  CUmemAllocationProp properties_{};
};

// Segments of 2 to 20 MiB in one reserved address range.
class Segments {
 public:
  Segments(const Session& session, const Mapper& mapper, std::uint64_t bytes, std::uint32_t seed)
      : session_(session), mapper_(mapper) {
    std::uint64_t slots = 0;
    for (std::uint64_t used = 0, i = 0; used + kGranule <= bytes; ++i) {
      const std::uint64_t size =
          std::min((1 + i * 7 % 10) * kGranule, bytes - used) / kGranule * kGranule;
      segments_.push_back({mapper.Create(size), 0, size});
      used += size;
      slots += size;
    }
    // Twice the size, so that a segment can be mapped elsewhere before it is unmapped.
    range_bytes_ = 2 * slots;
    range_ = mapper.Reserve(range_bytes_);
    CUdeviceptr next = range_;
    for (Segment& segment : segments_) {
      segment.address = next;
      mapper_.Map(next, segment.bytes, segment.handle);
      session_.Fill(next, segment.bytes, seed);
      next += segment.bytes;
    }
    half_ = slots;
  }

  std::size_t size() const { return segments_.size(); }

  void Step(std::uint32_t seed) const {
    for (const Segment& segment : segments_) session_.Step(segment.address, segment.bytes, seed);
  }

  // Moves a segment to the other half of the range; its contents follow the handle. With `alias` it
  // is mapped twice meanwhile and written through both addresses.
  void Move(std::size_t i, bool alias) {
    Segment& segment = segments_[i];
    const CUdeviceptr to =
        segment.address < range_ + half_ ? segment.address + half_ : segment.address - half_;
    session_.Synchronize();
    if (!alias) mapper_.Unmap(segment.address, segment.bytes);
    mapper_.Map(to, segment.bytes, segment.handle);
    if (alias) {
      session_.Add(to, segment.bytes, 17);
      session_.Synchronize();
      session_.Add(segment.address, segment.bytes, 1);
      session_.Synchronize();
      mapper_.Unmap(segment.address, segment.bytes);
    }
    segment.address = to;
  }

  // Replaces the memory of a segment.
  void Replace(std::size_t i, std::uint32_t value) {
    Segment& segment = segments_[i];
    session_.Synchronize();
    mapper_.Unmap(segment.address, segment.bytes);
    mapper_.Release(segment.handle);
    segment.handle = mapper_.Create(segment.bytes);
    mapper_.Map(segment.address, segment.bytes, segment.handle);
    session_.Fill(segment.address, segment.bytes, value);
  }

  // Releases the program's handle and retains a new one from the mapping.
  void Retain(std::size_t i) {
    Segment& segment = segments_[i];
    CUmemGenericAllocationHandle again = 0;
    mapper_.Release(segment.handle);
    REVEZA_CHECK(session_.driver(),
                 cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(segment.address)));
    segment.handle = again;
  }

  std::uint64_t Hash() const {
    std::uint64_t hash = 0;
    for (const Segment& segment : segments_) {
      hash = Combine(hash, session_.Hash(segment.address, segment.bytes));
    }
    return hash;
  }

  // Exports the first segment, maps what comes out of the descriptor and hashes it there.
  std::uint64_t HashExported() const {
    const Driver& driver = session_.driver();
    const Segment& segment = segments_.front();
    int descriptor = -1;
    REVEZA_CHECK(driver, cuMemExportToShareableHandle(&descriptor, segment.handle,
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CUmemGenericAllocationHandle imported = 0;
    REVEZA_CHECK(driver,
                 cuMemImportFromShareableHandle(
                     &imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    const CUdeviceptr address = mapper_.Reserve(segment.bytes);
    mapper_.Map(address, segment.bytes, imported);
    session_.Add(segment.address, segment.bytes, 5);
    session_.Synchronize();
    const std::uint64_t hash = session_.Hash(address, segment.bytes);
    mapper_.Unmap(address, segment.bytes);
    mapper_.Release(imported);
    mapper_.FreeAddress(address, segment.bytes);
    close(descriptor);
    return hash;
  }

  void Close() {
    session_.Synchronize();
    for (const Segment& segment : segments_) {
      mapper_.Unmap(segment.address, segment.bytes);
      mapper_.Release(segment.handle);
    }
    mapper_.FreeAddress(range_, range_bytes_);
  }

 private:
  struct Segment {
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    std::uint64_t bytes;
  };

  const Session& session_;
  const Mapper& mapper_;
  std::vector<Segment> segments_;
  CUdeviceptr range_ = 0;
  std::uint64_t range_bytes_ = 0, half_ = 0;
};

int Main(const Options& options) {
  if (options.bytes < 8 * kGranule) Die("--bytes must be 16MiB or more");
  Session session(options);
  StepRun run(options);
  const Mapper mapper(session);
  const std::uint64_t big_bytes = options.bytes / 2 / kGranule * kGranule;
  const CUdeviceptr big = mapper.Reserve(big_bytes);
  const CUmemGenericAllocationHandle pool = mapper.Create(big_bytes);
  mapper.Map(big, big_bytes, pool);
  mapper.Release(pool);  // the mapping keeps the memory
  session.Fill(big, big_bytes, options.seed);
  Segments segments(session, mapper, options.bytes / 2, options.seed + 1);
  while (run.Next()) {
    session.Step(big, big_bytes, options.seed);
    segments.Step(options.seed);
    if (options.step_ms > 0) session.Spin(options.step_ms);
    const std::uint64_t step = run.step();
    segments.Move(step % segments.size(), step % 3 == 0);
    if (step % 4 == 0) segments.Replace((step + 1) % segments.size(), options.seed + 9);
    if (step % 5 == 0) segments.Retain((step + 2) % segments.size());
  }
  std::uint64_t hash = Combine(session.Hash(big, big_bytes), segments.Hash());
  if (options.Extra("export") != 0) hash = Combine(hash, segments.HashExported());
  run.Count("segments", segments.size());
  segments.Close();
  mapper.Unmap(big, big_bytes);
  mapper.FreeAddress(big, big_bytes);
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(argc, argv, "vmm", {{"export", 1}}));
}
