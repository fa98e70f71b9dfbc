#include "reveza/gpu/swap/physical.h"

#include <algorithm>

namespace reveza::swap {
namespace {

bool Overlaps(const Access& access, const Piece& piece) {
  return access.offset < piece.offset + piece.size && piece.offset < access.offset + access.size;
}

bool Covers(const Access& access, const Piece& piece) {
  return access.offset <= piece.offset && access.offset + access.size >= piece.offset + piece.size;
}

CUmemAccessDesc HostAccess(int node) {
  CUmemAccessDesc access{};
  access.location = OnNode(node).location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

CUresult MapOnce(const Driver& driver, const Mapping& mapping, const Piece& piece) {
  CUresult result = driver.Map(mapping.address + piece.offset, piece.size, 0, piece.handle, 0);
  if (result != CUDA_SUCCESS) return result;
  result = ApplyAccess(driver, mapping, piece);
  if (result == CUDA_SUCCESS && piece.OnHost()) {
    // The driver may take the address for one of the host, in a copy.
    const CUmemAccessDesc host = HostAccess(piece.host_node);
    result = driver.SetAccess(mapping.address + piece.offset, piece.size, &host, 1);
  }
  if (result != CUDA_SUCCESS) driver.Unmap(mapping.address + piece.offset, piece.size);
  return result;
}

}  // namespace

CUmemAllocationProp OnNode(int node) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
  properties.location.id = node;
  return properties;
}

CUresult Create(const Driver& driver, const Block& block, int host_node, Bytes size,
                CUmemGenericAllocationHandle* handle) {
  const CUmemAllocationProp on_host = OnNode(host_node);
  return driver.Create(handle, size, host_node < 0 ? &block.properties : &on_host, 0);
}

CUresult TryHostMemory(const Driver& driver, int device, int node) {
  Block block;
  block.properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  block.properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
  block.size = kGranularity;
  block.pieces = MakePieces(block.size);
  Piece& piece = block.pieces[0];
  piece.host_node = node;
  Mapping mapping;
  CUresult result = driver.AddressReserve(&mapping.address, block.size, kGranularity, 0, 0);
  if (result != CUDA_SUCCESS) return result;
  mapping.access.push_back({.size = block.size, .description = OwnAccess(block)});
  block.mappings.push_back(mapping);
  result = Materialise(driver, block, piece);
  DematerialiseWithRetry(driver, block, piece);
  driver.AddressFree(mapping.address, block.size);
  return result;
}

CUresult ApplyAccess(const Driver& driver, const Mapping& mapping, const Piece& piece) {
  for (const Access& access : mapping.access) {
    if (!Overlaps(access, piece)) continue;
    const Bytes begin = std::max(access.offset, piece.offset);
    const Bytes end = std::min(access.offset + access.size, piece.offset + piece.size);
    const CUresult result =
        driver.SetAccess(mapping.address + begin, end - begin, &access.description, 1);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult Materialise(const Driver& driver, const Block& block, Piece& piece) {
  const bool made = piece.handle == 0;
  if (made) {
    const CUresult result = Create(driver, block, piece.host_node, piece.size, &piece.handle);
    if (result != CUDA_SUCCESS) {
      piece.handle = 0;
      return result;
    }
  }
  if (piece.mapped) return CUDA_SUCCESS;
  for (std::size_t i = 0; i < block.mappings.size(); ++i) {
    const CUresult result = MapOnce(driver, block.mappings[i], piece);
    if (result == CUDA_SUCCESS) continue;
    while (i-- > 0) driver.Unmap(block.mappings[i].address + piece.offset, piece.size);
    if (made && driver.Release(piece.handle) == CUDA_SUCCESS) piece.handle = 0;
    return result;
  }
  piece.mapped = true;
  return CUDA_SUCCESS;
}

CUresult UnmapEverywhere(const Driver& driver, const Block& block, Piece& piece) {
  if (!piece.mapped) return CUDA_SUCCESS;
  for (std::size_t i = 0; i < block.mappings.size(); ++i) {
    const CUresult result = driver.Unmap(block.mappings[i].address + piece.offset, piece.size);
    if (result == CUDA_SUCCESS) continue;
    while (i-- > 0) MapOnce(driver, block.mappings[i], piece);
    return result;
  }
  piece.mapped = false;
  return CUDA_SUCCESS;
}

CUresult Dematerialise(const Driver& driver, const Block& block, Piece& piece) {
  if (piece.handle == 0) return CUDA_SUCCESS;
  CUresult result = UnmapEverywhere(driver, block, piece);
  if (result != CUDA_SUCCESS) return result;
  result = driver.Release(piece.handle);
  if (result == CUDA_SUCCESS) piece.handle = 0;
  return result;
}

CUresult DematerialiseWithRetry(const Driver& driver, const Block& block, Piece& piece) {
  const CUresult result = Dematerialise(driver, block, piece);
  return result == CUDA_SUCCESS ? result : Dematerialise(driver, block, piece);
}

CUdeviceptr DirectAddress(const Block& block, const Piece& piece) {
  if (!piece.mapped) return 0;
  for (const Mapping& mapping : block.mappings) {
    bool writable = false;
    for (const Access& access : mapping.access) {
      const CUmemLocation& location = access.description.location;
      if (location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
          location.id != block.properties.location.id || !Overlaps(access, piece)) {
        continue;
      }
      writable =
          Covers(access, piece) && access.description.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    if (writable) return mapping.address + piece.offset;
  }
  return 0;
}

CUresult RestoreContents(const Driver& driver, const Piece& piece, CUdeviceptr address,
                         CUstream stream) {
  if (!piece.slot) return driver.SetWords(address, 0, piece.size / sizeof(unsigned), stream);
  return driver.CopyToDevice(address, piece.slot.data(), piece.size, stream);
}

CUmemAccessDesc OwnAccess(const Block& block) {
  CUmemAccessDesc access{};
  access.location = block.properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

std::vector<Piece> MakePieces(Bytes size) {
  std::vector<Piece> pieces((size + kPieceSize - 1) / kPieceSize);
  Bytes offset = 0;
  for (Piece& piece : pieces) {
    piece.offset = offset;
    piece.size = std::min(size - offset, kPieceSize);
    offset += piece.size;
  }
  return pieces;
}

}  // namespace reveza::swap
