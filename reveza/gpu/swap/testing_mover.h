// A mover over one fake device, for the tests of the mover.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "reveza/gpu/swap/mover.h"
#include "reveza/gpu/swap/testing_driver.h"

namespace reveza::swap::testing {

inline constexpr Bytes kBudget = 512 * kMiB;

class MoverTest : public ::testing::Test {
 protected:
  MoverTest() {
    ledger_.AddDevice(0, gpu_.context(), kBudget, 0);
    ledger_.SetResidency(Residency::kIn);
  }

  CUdeviceptr Filled(Bytes size, unsigned seed) {
    ledger_.AddCredit(0, size);
    CUdeviceptr address = 0;
    EXPECT_EQ(ledger_.Allocate(0, gpu_.context(), size, &address).outcome, Outcome::kDone);
    Fill(address, size, seed);
    return address;
  }

  static void Fill(CUdeviceptr address, Bytes size, unsigned seed) {
    for (Bytes at = 0; at < size; at += 4096) Word(address, at) = seed + unsigned(at >> 12);
  }

  static CUmemAccessDesc ReadWrite() {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return access;
  }

  CUmemGenericAllocationHandle Created(Bytes size) {
    ledger_.AddCredit(0, size);
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(ledger_.CreateHandle(size, properties, &handle).outcome, Outcome::kDone);
    return handle;
  }

  CUdeviceptr Mapped(CUmemGenericAllocationHandle handle, Bytes size) {
    CUdeviceptr address = 0;
    gpu_.driver().AddressReserve(&address, size, kGranularity, 0, 0);
    EXPECT_EQ(ledger_.MapHandle(address, size, 0, handle, 0).outcome, Outcome::kDone);
    const CUmemAccessDesc access = ReadWrite();
    EXPECT_EQ(ledger_.SetAccess(address, size, &access, 1).outcome, Outcome::kDone);
    return address;
  }

  static unsigned& Word(CUdeviceptr address, Bytes at) {
    return *reinterpret_cast<unsigned*>(address + at);
  }

  static bool Holds(CUdeviceptr address, Bytes size, unsigned seed) {
    for (Bytes at = 0; at < size; at += 4096) {
      if (Word(address, at) != seed + unsigned(at >> 12)) return false;
    }
    return true;
  }

  EvictResult Evict(Bytes bytes) {
    ledger_.SetResidency(Residency::kOut);
    return mover_.Evict(
        0, bytes,
        [](void* context, int, Bytes freed) {
          static_cast<std::vector<Bytes>*>(context)->push_back(freed);
        },
        &reports_);
  }

  SwapInState SwapInWith(Bytes credit) {
    ledger_.AddCredit(0, credit);
    return mover_.SwapInStep();
  }

  TestingDriver gpu_{kBudget};
  HostArena arena_{gpu_.driver(), 4 * kGiB};
  Ledger ledger_{gpu_.driver(), arena_};
  Mover mover_{gpu_.driver(), ledger_};
  std::vector<Bytes> reports_;
};

}  // namespace reveza::swap::testing
