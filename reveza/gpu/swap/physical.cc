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

CUresult MapOnce(const Driver& driver, const Mapping& mapping, const Piece& piece) {
  CUresult result = driver.Map(mapping.address + piece.offset, piece.size, 0, piece.handle, 0);
  if (result != CUDA_SUCCESS) return result;
  result = ApplyAccess(driver, mapping, piece);
  if (result != CUDA_SUCCESS) driver.Unmap(mapping.address + piece.offset, piece.size);
  return result;
}

}  // namespace

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
    const CUresult result = driver.Create(&piece.handle, piece.size, &block.properties, 0);
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
