// An address at which a piece can be copied: its own, or a private one for the time of a copy,
// when it is mapped nowhere or without write access.
// Thread-safety: the caller holds the ledger's lock and waits for the copy before this ends.
#pragma once

#include "swap/device_memory.h"
#include "swap/driver.h"
#include "swap/physical.h"

namespace reveza::swap {

class Staging {
 public:
  Staging(const Driver& driver, DeviceMemory& device, const Block& block, const Piece& piece)
      : driver_(driver), piece_(piece), address_(DirectAddress(block, piece)) {
    if (address_ != 0) return;
    if (device.staging == 0) {
      result_ = driver_.AddressReserve(&device.staging, kPieceSize, kGranularity, 0, 0);
    }
    if (result_ == CUDA_SUCCESS) {
      result_ = driver_.Map(device.staging, piece.size, 0, piece.handle, 0);
    }
    if (result_ != CUDA_SUCCESS) return;
    mapped_ = true;
    address_ = device.staging;
    CUmemAccessDesc own{};
    own.location = block.properties.location;
    own.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    result_ = driver_.SetAccess(address_, piece.size, &own, 1);
  }
  ~Staging() {
    if (mapped_) driver_.Unmap(address_, piece_.size);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  CUresult result() const { return result_; }
  CUdeviceptr address() const { return address_; }
  // The copy must end before the next piece may use the same private address.
  bool is_private() const { return mapped_; }

 private:
  const Driver& driver_;
  const Piece& piece_;
  CUdeviceptr address_;
  CUresult result_ = CUDA_SUCCESS;
  bool mapped_ = false;
};

}  // namespace reveza::swap
